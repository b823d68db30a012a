// Events of a pool whose server is not there: nothing was ever in the pool.
package main

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

func main() {
	events := make(chan *event.PoolEvent, 100)
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://127.0.0.1:1").
		SetPoolMonitor(&event.PoolMonitor{Event: func(e *event.PoolEvent) { events <- e }}))
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_ = client.Ping(ctx, nil)
	for len(events) > 0 {
		fmt.Println((<-events).Type)
	}
}
