//fork:base >=v2.7.0

package driver

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/randutil"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

//fork:remove overloadBackoff internal/retry has the backoff
//fork:remove TestOverloadBackoff tests what is removed
//fork:remove backoffInitial internal/retry has the numbers
//fork:remove backoffMax internal/retry has the numbers
//fork:remove retryBudget internal/retry has the limit
//fork:remove cappedRetryBudget internal/retry has the limit
//fork:remove unlimitedRetryBudget internal/retry has the limit

// overloadPolicy returns the policy that the operation's commands are retried by: that of the client or, for an operation on
// a deployment that has none, the one that the operation's own fields ask for.
//
// Where the client has a policy, it knows the client's options, and the operation's kind says which of them counts. That
// covers the commands that are made without MaxAdaptiveRetries, and tells an option that is off from a limit of zero.
//
//fork:watch Operation
func (op Operation) overloadPolicy() *OverloadPolicy {
	policy := overloadPolicy(op.Deployment)
	if policy != nil || op.MaxAdaptiveRetries == 0 {
		return policy
	}
	policy = NewOverloadPolicy(op.MaxAdaptiveRetries, op.EnableOverloadRetargeting)
	policy.RetryReads, policy.RetryWrites = true, true
	return policy
}

// NewOverloadPolicy returns a policy with the numbers of the specification's revision of 2026-08-13, that retries nothing
// until RetryReads or RetryWrites is set.
func NewOverloadPolicy(maxAdaptiveRetries uint, retarget bool) *OverloadPolicy {
	maxRetries := retry.Unlimited
	if maxAdaptiveRetries < uint(retry.Unlimited) {
		maxRetries = retry.Limit(maxAdaptiveRetries)
	}
	return &OverloadPolicy{
		Policy: retry.Policy{
			MaxRetries:   maxRetries,
			FirstBackoff: firstBackoff(retry.BaseBackoff),
			Jitter:       randutil.Jitter,
		},
		Retarget: retarget,
		Clock:    backpressure.SystemClock{},
	}
}

// serverFirstBackoff returns the longest backoff before the first retry that the server asks for by baseBackoffMS, or zero.
//
//fork:watch serverBaseBackoff
func serverFirstBackoff(err error) time.Duration {
	if base := serverBaseBackoff(err); base > 0 {
		return firstBackoff(base)
	}
	return 0
}

// firstBackoff returns the longest backoff before the first retry: the revision doubles the base already for that.
func firstBackoff(base time.Duration) time.Duration {
	if base > retry.MaxBackoff {
		return retry.MaxBackoff
	}
	return 2 * base
}
