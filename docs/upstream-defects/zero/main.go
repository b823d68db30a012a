// maxAdaptiveRetries=0, and an overload error that is also a retryable read.
package main

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"mongofork.internal/defects/server"
)

func main() {
	s := server.Start(func(int64, string) bson.D {
		return server.Error(134, "SystemOverloadedError", "RetryableError")
	})
	client, err := mongo.Connect(s.Options().SetMaxAdaptiveRetries(0))
	if err != nil {
		panic(err)
	}
	err = client.Database("db").Collection("coll").FindOne(context.Background(), bson.D{}).Err()
	fmt.Printf("one find with maxAdaptiveRetries=0: %d commands, then: %v\n", s.Commands.Load(), err)
}
