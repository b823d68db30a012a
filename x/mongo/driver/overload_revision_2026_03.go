//fork:base <v2.7.0

package driver

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
)

// Error labels of the Client Backpressure specification, named as later versions of this package name them. An error with
// both is a retryable overload error.
const (
	// ErrSystemOverloadedError is the label of errors by which an overloaded server sheds load.
	ErrSystemOverloadedError = backpressure.SystemOverloadedError
	// ErrRetryableError is the label of errors after which any command can safely be sent again, whatever it does.
	ErrRetryableError = backpressure.RetryableError
)

// overloadPolicy returns the policy that the operation's commands are retried by: that of the client, if the specification
// does not exempt the deployment.
func (op Operation) overloadPolicy() *backpressure.Policy {
	return backpressure.PolicyOf(carrier(op.Deployment))
}

// serverFirstBackoff returns zero: the revision of 2026-03-12 lets no server say how long to back off.
func serverFirstBackoff(error) time.Duration { return 0 }
