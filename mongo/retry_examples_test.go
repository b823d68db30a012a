package mongo_test

import (
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// The error of an operation tells why the driver gave up.
func ExampleRetryError() {
	insertOrder := func() error {
		// InsertOne returns a CommandError that holds one, if the server stays
		// overloaded.
		return fmt.Errorf("too many requests (%w)", &mongo.RetryError{
			Attempts: 6, Retries: 5, Backoff: 1550 * time.Millisecond,
			Reason: event.RetryReasonLimit,
		})
	}

	err := insertOrder()
	fmt.Println(errors.Unwrap(err))
	var retries *mongo.RetryError
	if errors.As(err, &retries) {
		fmt.Printf("%d attempts, %v of backoff, then: %s\n",
			retries.Attempts, retries.Backoff, retries.Reason)
	}
	// Output:
	// no further retry after 6 attempts and 1.55s of backoff: limit
	// 6 attempts, 1.55s of backoff, then: limit
}
