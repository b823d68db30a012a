package driver

import (
	"fmt"
	"time"
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

// Tell returns the message of an error that holds the RetryError, which may be nil. Without a backoff the message stays as it is.
func (e *RetryError) Tell(message string) string {
	if e == nil || e.Backoff == 0 {
		return message
	}
	return message + " (" + e.Error() + ")"
}

// retryDescriber is implemented by errors that can hold a RetryError.
type retryDescriber interface {
	error

	// DescribeRetries returns a copy of the error in which errors.As finds the RetryError.
	DescribeRetries(*RetryError) error
}

// withRetryError returns the error with the RetryError in it. Errors whose type cannot hold one are unchanged.
func withRetryError(err error, retries *RetryError) error {
	if describer, ok := err.(retryDescriber); ok {
		return describer.DescribeRetries(retries)
	}
	return err
}

var _ retryDescriber = Error{}

// DescribeRetries implements the retryDescriber interface.
func (e Error) DescribeRetries(retries *RetryError) error {
	e.retries = retries
	return e
}

// As lets errors.As find the RetryError.
func (e Error) As(target any) bool { return e.retries.As(target) }

// As sets the target of errors.As, for errors that hold a RetryError. One that holds none has a nil one.
func (e *RetryError) As(target any) bool {
	found, ok := target.(**RetryError)
	if !ok || e == nil {
		return false
	}
	*found = e
	return true
}
