package driver

import (
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
)

// RetryError describes the attempts that an operation made before it failed. errors.As finds it in errors of operations that were
// retried, or would have been but for a limit, a deadline, an option, a missing label or an empty token bucket. It only describes
// another error: no operation returns it, and errors.Unwrap never leads to it, so types and comparisons are the same as without it.
// If there was a backoff, the other error's message ends with what this one says.
//
// Errors that hold the result of a write do not have one, nor do sentinel values such as mongo.ErrClientDisconnected.
type RetryError struct {
	// Attempts is the number of attempts, of which Retries were retries. They differ by 1, or for an operation sent in batches by
	// the number of batches.
	Attempts int
	Retries  int
	// Throttled is the number of attempts that were not sent because of adaptiveThrottling.
	Throttled int
	// Backoff is the time spent waiting before retries.
	Backoff time.Duration
	// Reason is why there was no further retry, one of the event.RetryReason constants. It is empty if the server executed
	// the last command.
	Reason string
	// Criticality is the class of the operation, "sheddable" or "critical". It is empty if the operation is a normal one.
	Criticality string
}

// Error implements the error interface.
func (e *RetryError) Error() string {
	reason := e.Reason
	if reason == "" {
		reason = "executed"
	}
	return fmt.Sprintf("no further retry after %d attempts and %v of backoff: %s", e.Attempts, e.Backoff.Round(time.Millisecond), reason)
}

// afterRetries is implemented by errors of other packages that can hold a RetryError and stay of their type.
type afterRetries interface {
	error

	// After returns a copy of the error in which errors.As finds the RetryError.
	After(backpressure.Retries) error
}

// withRetryError returns the error with the RetryError in it. Errors whose type cannot hold one are unchanged.
func withRetryError(err error, retries *RetryError) error {
	described := backpressure.Retries{Err: retries, Told: retries.Backoff > 0}
	switch e := err.(type) {
	case Error:
		e.retries = described
		return e
	case afterRetries:
		return e.After(described)
	default:
		return err
	}
}

// As lets errors.As find the RetryError.
func (e Error) As(target any) bool { return e.retries.As(target) }
