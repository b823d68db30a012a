package mongo_test

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// The error of an operation tells why the driver stopped retrying. The last
// part of its text differs from call to call: a log that groups lines by their
// text logs that part separately.
func ExampleRetryError() {
	insertOrder := func() error {
		// InsertOne returns a CommandError that holds one, if the server stays
		// overloaded.
		return fmt.Errorf("busy (%w)", &mongo.RetryError{
			Attempts: 6, Retries: 5, Backoff: 1550 * time.Millisecond,
			Reason: event.RetryReasonLimit,
		})
	}

	err := insertOrder()
	fmt.Println(err)
	var retries *mongo.RetryError
	if errors.As(err, &retries) {
		last := " (" + retries.Error() + ")"
		fmt.Printf("%q attempts=%d backoff=%v reason=%s\n",
			strings.Replace(err.Error(), last, "", 1),
			retries.Attempts, retries.Backoff, retries.Reason)
	}
	// Output:
	// busy (no further retry after 6 attempts and 1.55s of backoff: limit)
	// "busy" attempts=6 backoff=1.55s reason=limit
}
