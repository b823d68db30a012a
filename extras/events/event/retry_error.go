package event

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
	// Throttled is the number of attempts that adaptiveThrottling held back.
	Throttled int
	// Backoff is the time spent waiting before retries.
	Backoff time.Duration
	// Reason is why there was no further retry. It is empty if the server executed the last command.
	Reason RetryReason
	// Criticality is the class of the operation.
	Criticality Criticality
}

// Error implements the error interface.
func (e *RetryError) Error() string {
	reason, attempts := e.Reason, fmt.Sprintf("%d attempts", e.Attempts)
	if reason == "" {
		reason = "executed"
	}
	if e.Throttled > 0 {
		attempts += fmt.Sprintf(", %d of them held back,", e.Throttled)
	}
	return fmt.Sprintf("no further retry after %s and %v of backoff: %s", attempts, e.Backoff.Round(time.Millisecond), reason)
}
