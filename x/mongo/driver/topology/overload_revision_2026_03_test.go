//fork:base <v2.7.0

package topology

import (
	"math"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

func TestConfiguredPolicy(t *testing.T) {
	for _, tt := range []struct {
		name string
		opts *options.ClientOptions
		want retry.Limit
	}{
		{name: "default", opts: options.Client(), want: 5},
		{name: "maxAdaptiveRetries", opts: options.Client().SetMaxAdaptiveRetries(7), want: 7},
		{name: "no retries", opts: options.Client().SetMaxAdaptiveRetries(0), want: retry.Never},
		{name: "more than can be counted", opts: options.Client().SetMaxAdaptiveRetries(math.MaxUint), want: retry.Unlimited},
		{name: "URI", opts: options.Client().ApplyURI("mongodb://a/?maxAdaptiveRetries=3"), want: 3},
	} {
		overload := newTopology(t, tt.opts).cfg.overload
		assert.Equal(t, tt.want, overload.MaxRetries, tt.name)
		assert.True(t, overload.Retarget, tt.name)
		assert.Equal(t, 100*time.Millisecond, overload.FirstBackoff, tt.name)
	}
}
