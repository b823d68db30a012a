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
	// Backoff is the time spent waiting before retries.
	Backoff time.Duration
	// Reason is why there was no further retry. It is empty if the server executed the last command.
	Reason RetryReason
	// Throttled is the number of attempts that were withheld, see SetAdaptiveThrottling.
	Throttled int
	// Criticality is the class of the operation.
	Criticality Criticality
}

// Error implements the error interface.
func (e *RetryError) Error() string {
	reason := e.Reason
	if reason == "" {
		reason = "executed"
	}
	message := fmt.Sprintf("no further retry after %s and %v of backoff: %s", e.attempts(), e.Backoff.Round(time.Millisecond), reason)
	if e.Reason == RetryReasonOverloadLasts {
		// Applications that set no option have not read about it.
		message += ": the server accepts so little that a retry would only take the place of another command"
	}
	return message
}

// attempts returns how many there were, in words.
func (e *RetryError) attempts() string {
	attempts := fmt.Sprintf("%d attempts", e.Attempts)
	if e.Throttled > 0 {
		attempts += fmt.Sprintf(", %d of them withheld,", e.Throttled)
	}
	return attempts
}
