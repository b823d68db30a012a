//fork:base >=v2.7.0

package topology

import (
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// defaultMaxAdaptiveRetries is MAX_RETRIES for clients that do not set maxAdaptiveRetries. The client has the same default.
const defaultMaxAdaptiveRetries uint = 2

// configuredPolicy returns the parts of a policy that clients can configure in the specification's revision of 2026-08-13.
func configuredPolicy(opts *options.ClientOptions) *backpressure.Policy {
	maxRetries := defaultMaxAdaptiveRetries
	if opts.MaxAdaptiveRetries != nil {
		maxRetries = *opts.MaxAdaptiveRetries
	}
	retarget := opts.EnableOverloadRetargeting != nil && *opts.EnableOverloadRetargeting
	return backpressure.NewPolicy(maxRetries, retarget)
}
