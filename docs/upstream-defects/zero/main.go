// maxAdaptiveRetries=0, and an overload error that is also a retryable read.
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
		return server.Error(134, "SystemOverloadedError", "RetryableError")
	})
	client := s.Connect(options.Client().SetMaxAdaptiveRetries(0))
	err := client.Database("db").Collection("coll").FindOne(context.Background(), bson.D{}).Err()
	fmt.Printf("one find with maxAdaptiveRetries=0: %d commands, then: %v\n", s.Commands.Load(), err)
}
