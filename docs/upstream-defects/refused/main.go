// A server that limits the rate of new connections closes the one that a command needs.
package main

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork.internal/defects/server"
)

func main() {
	s := server.Start(server.OK)
	client := s.Connect(options.Client().SetServerMonitoringMode("poll")) // which opens one connection
	s.Refuse.Store(1)
	coll := client.Database("db").Collection("coll")
	for _, attempt := range []string{"first find", "second find"} {
		_, err := coll.Find(context.Background(), bson.D{})
		var labeled mongo.LabeledError
		labels := errors.As(err, &labeled) && labeled.HasErrorLabel("SystemOverloadedError") &&
			labeled.HasErrorLabel("RetryableError")
		fmt.Printf("%s: failed %v, with both labels %v\n", attempt, err != nil, labels)
	}
}
