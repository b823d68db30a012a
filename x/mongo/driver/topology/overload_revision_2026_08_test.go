//fork:base >=v2.7.0

package topology

import (
	"math"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/randutil"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

func TestConfiguredPolicy(t *testing.T) {
	for _, tt := range []struct {
		name       string
		opts       *options.ClientOptions
		maxRetries retry.Limit
		retarget   bool
	}{
		{name: "default", opts: options.Client(), maxRetries: 2, retarget: false},
		{name: "maxAdaptiveRetries", opts: options.Client().SetMaxAdaptiveRetries(7), maxRetries: 7, retarget: false},
		{name: "no retries", opts: options.Client().SetMaxAdaptiveRetries(0), maxRetries: retry.Never, retarget: false},
		{name: "more than can be counted", opts: options.Client().SetMaxAdaptiveRetries(math.MaxUint), maxRetries: retry.Unlimited},
		{name: "URI", opts: options.Client().ApplyURI("mongodb://a/?maxAdaptiveRetries=3&enableOverloadRetargeting=true"),
			maxRetries: 3, retarget: true},
		{name: "retargeting", opts: options.Client().SetEnableOverloadRetargeting(true), maxRetries: 2, retarget: true},
		{name: "retargeting off", opts: options.Client().SetEnableOverloadRetargeting(false), maxRetries: 2, retarget: false},
	} {
		overload := newTopology(t, tt.opts).cfg.overload
		assert.Equal(t, tt.maxRetries, overload.MaxRetries, tt.name)
		assert.Equal(t, tt.retarget, overload.Retarget, tt.name)
		assert.Equal(t, 200*time.Millisecond, overload.FirstBackoff, tt.name)
	}
}

// TestJitterIsTheDrivers is about tests that set the jitter of all clients.
func TestJitterIsTheDrivers(t *testing.T) {
	defer randutil.SetJitterForTesting(func() float64 { return 0.25 })()
	assert.Equal(t, 0.25, newTopology(t, options.Client()).cfg.overload.Jitter())
}
