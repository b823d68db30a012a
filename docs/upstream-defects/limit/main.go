// One overload error, and then errors that are retryable otherwise, under a timeout of one second.
package main

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork.internal/defects/server"
)

func main() {
	s := server.Start(func(n int64) bson.M {
		if n == 1 {
			return server.Overloaded()
		}
		return server.Error(134) // ReadConcernMajorityNotAvailableYet
	})
	client := s.Connect(options.Client().SetTimeout(time.Second).SetMaxAdaptiveRetries(2))
	err := client.Database("db").Collection("coll").FindOne(context.Background(), bson.D{}).Err()
	fmt.Printf("one find with maxAdaptiveRetries=2: more than 3 commands: %v\n", s.Commands.Load() > 3)
	fmt.Printf("%d commands, then: %v\n", s.Commands.Load(), err)
}
