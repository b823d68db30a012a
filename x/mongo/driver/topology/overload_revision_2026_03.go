//fork:base <v2.7.0

package topology

import (
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/randutil"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// defaultMaxAdaptiveRetries is MAX_RETRIES of the specification's revision of 2026-03-12, for clients that do not set
// maxAdaptiveRetries, which that revision does not have.
const defaultMaxAdaptiveRetries uint = 5

// configuredPolicy returns the parts of a policy that the specification's revision of 2026-03-12 fixes, and what clients configure.
func configuredPolicy(opts *options.ClientOptions) *backpressure.Policy {
	maxRetries := defaultMaxAdaptiveRetries
	if opts.MaxAdaptiveRetries != nil {
		maxRetries = *opts.MaxAdaptiveRetries
	}
	return &backpressure.Policy{
		Policy: retry.Policy{
			MaxRetries:   retry.LimitOf(maxRetries),
			FirstBackoff: retry.BaseBackoff,
			Jitter:       randutil.NewLockedRand().Float64,
		},
		Retarget: true, // "Overload retry policy", 4
		Clock:    backpressure.SystemClock{},
	}
}
