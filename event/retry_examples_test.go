package event_test

import (
	"context"
	"log"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// A RetryMonitor tells why commands are retried, and why not.
func ExampleRetryMonitor() {
	monitor := &event.RetryMonitor{
		Decided: func(_ context.Context, e *event.RetryDecidedEvent) {
			if e.WillRetry {
				log.Printf("operation %d: %s failed at %s (%v): attempt %d follows in %v",
					e.OperationID, e.CommandName, e.ServerAddress, e.Failure, e.Attempt+1, e.Backoff)
				return
			}
			log.Printf("operation %d: %s failed (%v): no further attempt: %s",
				e.OperationID, e.CommandName, e.Failure, e.Reason)
		},
		Finished: func(_ context.Context, e *event.RetryFinishedEvent) {
			log.Printf("operation %d ended after %d attempts and %v of backoff: %v",
				e.OperationID, e.Attempts, e.Backoff, e.Failure)
		},
	}

	clientOpts := options.Client().ApplyURI("mongodb://localhost:27017").SetRetryMonitor(monitor)
	client, err := mongo.Connect(clientOpts)
	if err != nil {
		log.Fatal(err)
	}
	defer func() {
		if err := client.Disconnect(context.TODO()); err != nil {
			log.Fatal(err)
		}
	}()
}
