//fork:base >=v2.7.0

package driver

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
)

//fork:remove overloadBackoff internal/retry has the backoff
//fork:remove TestOverloadBackoff tests what is removed
//fork:remove backoffInitial internal/retry has the numbers
//fork:remove backoffMax internal/retry has the numbers
//fork:remove retryBudget internal/retry has the limit
//fork:remove cappedRetryBudget internal/retry has the limit
//fork:remove unlimitedRetryBudget internal/retry has the limit

// overloadPolicy returns the policy that the operation's commands are retried by: that of the client or, for an operation on
// a deployment that has none, the one that the operation's own fields ask for. If the operation is retried by its RetryMode, a limit of
// zero is one, too.
//
// Where the client has a policy, it knows the client's options, and the operation's kind says which of them counts. That
// covers the commands that are made without MaxAdaptiveRetries, and tells an option that is off from a limit of zero.
func (op Operation) overloadPolicy() *backpressure.Policy {
	policy := backpressure.PolicyOf(carrier(op.Deployment))
	if policy != nil || (op.MaxAdaptiveRetries == 0 && !op.retryEnabled()) {
		return policy
	}
	policy = backpressure.NewPolicy(op.MaxAdaptiveRetries, op.EnableOverloadRetargeting)
	policy.RetryReads, policy.RetryWrites = true, true // who made the operation has asked the options: see its fields
	return policy
}

// serverFirstBackoff returns the longest backoff before the first retry that the server asks for by baseBackoffMS, or zero.
func serverFirstBackoff(err error) time.Duration {
	if base := serverBaseBackoff(err); base > 0 {
		return backpressure.FirstBackoff(base)
	}
	return 0
}
