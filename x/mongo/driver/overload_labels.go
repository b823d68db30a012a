//fork:base <v2.7.0

package driver

import "go.mongodb.org/mongo-driver/v2/internal/backpressure"

// Error labels of the Client Backpressure specification, named as later versions of this package name them. An error with
// both is a retryable overload error.
const (
	// ErrSystemOverloadedError is the label of errors by which an overloaded server sheds load.
	ErrSystemOverloadedError = backpressure.SystemOverloadedError
	// ErrRetryableError is the label of errors after which any command can safely be sent again, whatever it does.
	ErrRetryableError = backpressure.RetryableError
)
