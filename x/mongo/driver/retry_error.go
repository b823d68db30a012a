package driver

import (
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
)

// afterRetries is implemented by errors of other packages that can hold a RetryError and stay of their type.
type afterRetries interface {
	error

	// After returns a copy of the error in which errors.As finds the RetryError.
	After(*event.RetryError) error
}

// withRetryError returns the error with the RetryError in it. Errors whose type cannot hold one are unchanged.
func withRetryError(err error, retries *event.RetryError) error {
	switch e := err.(type) {
	case Error:
		e.account = backpressure.Account{RetryError: retries}
		return e
	case afterRetries:
		return e.After(retries)
	default:
		return err
	}
}

// As lets errors.As find the RetryError.
func (e Error) As(target any) bool { return e.account.As(target) }
