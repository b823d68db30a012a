//fork:base <v2.7.0

package topology

import (
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/randutil"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// maxRetries is MAX_RETRIES, which clients cannot configure in the specification's revision of 2026-03-12.
const maxRetries retry.Limit = 5

// configuredPolicy returns the parts of a policy that the specification's revision of 2026-03-12 fixes.
func configuredPolicy(*options.ClientOptions) *backpressure.Policy {
	return &backpressure.Policy{
		Policy: retry.Policy{
			MaxRetries:   maxRetries,
			FirstBackoff: retry.BaseBackoff,
			Jitter:       randutil.NewLockedRand().Float64,
		},
		Retarget: true,
		Clock:    backpressure.SystemClock{},
	}
}
