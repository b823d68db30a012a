//fork:base <v2.7.0

package driver

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
)

// overloadPolicy returns the policy that the operation's commands are retried by: that of the client, if the specification
// does not exempt the deployment.
func (op Operation) overloadPolicy() *backpressure.Policy {
	return backpressure.PolicyOf(carrier(op.Deployment))
}

// serverFirstBackoff returns zero: the revision of 2026-03-12 lets no server say how long to back off.
func serverFirstBackoff(error) time.Duration { return 0 }
