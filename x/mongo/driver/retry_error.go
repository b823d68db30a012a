package driver

import (
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
)

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

// afterRetries is implemented by errors of other packages that can hold a RetryError and stay of their type.
type afterRetries interface {
	error

	// After returns a copy of the error in which errors.As finds the RetryError.
	After(backpressure.Account) error
}

// withRetryError returns the error with the RetryError in it. Errors whose type cannot hold one are unchanged.
func withRetryError(err error, retryErr *RetryError) error {
	account := backpressure.Account{Err: retryErr, Shown: retryErr.Backoff > 0}
	switch e := err.(type) {
	case Error:
		e.account = account
		return e
	case afterRetries:
		return e.After(account)
	default:
		return err
	}
}

// As lets errors.As find the RetryError.
func (e Error) As(target any) bool { return e.account.As(target) }
