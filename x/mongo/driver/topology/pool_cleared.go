package topology

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// poolClearedError can have the label RetryableWriteError.
//
//fork:extend a write that waited for a connection when the pool was cleared may be retried, and the error has to say so
type poolClearedError struct {
	retryableWrite bool
}

// IsPoolCleared reports whether the error is or wraps that of a pool which was cleared, or is not ready yet.
func IsPoolCleared(err error) bool {
	var cleared poolClearedError
	return errors.As(err, &cleared)
}

// ForWrite returns a copy of the error that has the label.
func (pce poolClearedError) ForWrite() error {
	pce.retryableWrite = true
	return pce
}

// HasErrorLabel reports whether the error has the label.
func (pce poolClearedError) HasErrorLabel(label string) bool {
	return label == driver.RetryableWriteError && pce.retryableWrite
}

// ClearedFor reports whether the pool was cleared for a failure to establish a connection to the server of this one: of several at the
// same time, only the first clears the pool, so that they need not be the same.
func (pce poolClearedError) ClearedFor(failure error) bool {
	var cause, failed ConnectionError
	return errors.As(pce.err, &cause) && errors.As(failure, &failed) && failed.server != "" && cause.server == failed.server
}
