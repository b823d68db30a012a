package topology

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

func TestTokenBucketOfAClient(t *testing.T) {
	bucket := func(opts *options.ClientOptions) any { return newTopology(t, opts).cfg.overload.Bucket }
	assert.Nil(t, bucket(options.Client()))
	assert.Nil(t, bucket(options.Client().SetAdaptiveRetries(false)))
	one, other := bucket(options.Client().SetAdaptiveRetries(true)), bucket(options.Client().SetAdaptiveRetries(true))
	assert.NotNil(t, one)
	assert.True(t, one != other, "each client has its own bucket")
}
