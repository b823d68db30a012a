package event_test

import (
	"context"
	"fmt"
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
				log.Printf("operation %d: %s failed at %s (%v): "+
					"attempt %d follows in %v",
					e.OperationID, e.CommandName, e.ServerAddress, e.Failure,
					e.Attempt+1, e.Backoff)
				return
			}
			log.Printf("operation %d: %s failed (%v): no further attempt: %s",
				e.OperationID, e.CommandName, e.Failure, e.Reason)
		},
		Finished: func(_ context.Context, e *event.RetryFinishedEvent) {
			log.Printf("operation %d ended after %d attempts and %v of "+
				"backoff: %v",
				e.OperationID, e.Attempts, e.Backoff, e.Failure)
		},
	}

	clientOpts := options.Client().ApplyURI("mongodb://localhost:27017").
		SetRetryMonitor(monitor)
	client, err := mongo.Connect(clientOpts)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = client.Disconnect(context.TODO()) }()
}

// A client has one RetryMonitor. To use several, such as one that logs and one
// of a library that counts, set one that calls each.
func ExampleRetryMonitor_several() {
	several := func(monitors ...*event.RetryMonitor) *event.RetryMonitor {
		return &event.RetryMonitor{
			Decided: func(ctx context.Context, e *event.RetryDecidedEvent) {
				for _, m := range monitors {
					if m.Decided != nil {
						m.Decided(ctx, e)
					}
				}
			},
			Finished: func(ctx context.Context, e *event.RetryFinishedEvent) {
				for _, m := range monitors {
					if m.Finished != nil {
						m.Finished(ctx, e)
					}
				}
			},
		}
	}
	refused := 0
	monitor := several(
		&event.RetryMonitor{
			Decided: func(_ context.Context, e *event.RetryDecidedEvent) {
				if !e.WillRetry {
					refused++
				}
			},
		},
		&event.RetryMonitor{
			Finished: func(_ context.Context, e *event.RetryFinishedEvent) {
				fmt.Println(e.CommandName, "ended after", e.Attempts,
					"attempts,", refused, "refused:", e.Reason)
			},
		},
	)
	clientOpts := options.Client().ApplyURI("mongodb://localhost:27017").
		SetRetryMonitor(monitor)

	// What the driver does when a command gets no further retry:
	called := clientOpts.RetryMonitor
	ctx := context.Background()
	called.Decided(ctx, &event.RetryDecidedEvent{
		CommandName: "find", Attempt: 6, Reason: event.RetryReasonLimit,
	})
	called.Finished(ctx, &event.RetryFinishedEvent{
		CommandName: "find", Attempts: 6, Reason: event.RetryReasonLimit,
	})
	// Output: find ended after 6 attempts, 1 refused: limit
}
