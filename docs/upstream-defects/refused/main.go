// A server that limits the rate of new connections closes the one that a command needs.
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

func main() {
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
	s.Refuse.Store(1)
	coll := client.Database("db").Collection("coll")
	for _, attempt := range []string{"first find", "second find"} {
		_, err = coll.Find(context.Background(), bson.D{})
		var labeled mongo.LabeledError
		labels := errors.As(err, &labeled) && labeled.HasErrorLabel("SystemOverloadedError") &&
			labeled.HasErrorLabel("RetryableError")
		fmt.Printf("%s: failed %v, with both labels %v\n", attempt, err != nil, labels)
	}
}
