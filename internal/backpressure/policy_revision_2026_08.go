//fork:base >=v2.7.0

package backpressure

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/randutil"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

// NewPolicy returns a policy with the numbers of the specification's revision of 2026-08-13, that retries only the
// ends of transactions until RetryReads or RetryWrites is set.
func NewPolicy(maxAdaptiveRetries uint, retarget bool) *Policy {
	return &Policy{
		Policy: retry.Policy{
			MaxRetries:   retry.LimitOf(maxAdaptiveRetries),
			FirstBackoff: FirstBackoff(retry.BaseBackoff),
			Jitter:       randutil.Jitter,
		},
		Retarget: retarget,
		Clock:    SystemClock{},
	}
}

// FirstBackoff returns the longest backoff before the first retry: the revision doubles the base already for that.
func FirstBackoff(base time.Duration) time.Duration {
	// A server may send any base (client-backpressure.md of 2026-08-13, "Overload retry policy", 3.6): doubling the largest would
	// overflow.
	if base > retry.MaxBackoff {
		return retry.MaxBackoff
	}
	return 2 * base
}
