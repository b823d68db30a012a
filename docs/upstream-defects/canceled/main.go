// The server closes connections during their hello; nobody cancels anything.
package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"mongofork.internal/defects/server"
)

const runs = 5000

func main() {
	canceled, network := 0, 0
	for range runs {
		switch err := ping(); {
		case errors.Is(err, context.Canceled):
			canceled++
		case mongo.IsNetworkError(err):
			network++
		}
	}
	fmt.Printf("%d pings, network errors: %d, context.Canceled: %d\n", runs, network, canceled)
}

// ping returns the error of a ping for which no connection can be established, to a server that is known.
func ping() error {
	s := server.Start(func(int64, string) bson.D { return server.OK() })
	known, once := make(chan struct{}), sync.Once{}
	monitor := &event.ServerMonitor{ServerHeartbeatSucceeded: func(*event.ServerHeartbeatSucceededEvent) {
		once.Do(func() { close(known) })
	}}
	client, err := mongo.Connect(s.Options().SetServerMonitor(monitor))
	if err != nil {
		panic(err)
	}
	<-known
	s.RefuseHello.Store(true)
	defer func() { _ = client.Disconnect(context.Background()) }()
	return client.Database("db").RunCommand(context.Background(), bson.D{{Key: "ping", Value: 1}}).Err()
}
