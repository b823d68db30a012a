// An insert that the server rejects, by a client that does not retry writes.
package main

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork.internal/defects/server"
)

func main() {
	s := server.Start(func(int64) bson.M {
		return server.Error(462, "SystemOverloadedError", "RetryableError", "NoWritesPerformed")
	})
	client := s.Connect(options.Client().SetRetryWrites(false))
	coll := client.Database("db").Collection("coll")
	_, err := coll.InsertOne(context.Background(), bson.D{{Key: "x", Value: 1}})
	fmt.Printf("InsertOne, rejected: %d commands, error: %v\n", s.Commands.Load(), err)
	_, err = coll.UpdateMany(context.Background(), bson.D{}, bson.D{{Key: "$set", Value: bson.D{{Key: "x", Value: 1}}}})
	fmt.Printf("UpdateMany, rejected: %d commands, error: %v\n", s.Commands.Load(), err)
}
