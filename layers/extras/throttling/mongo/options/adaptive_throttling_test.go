package options

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
)

func TestAdaptiveThrottling(t *testing.T) {
	get := func(o *ClientOptions) *bool { return o.AdaptiveThrottling }
	testSwitch(t, "adaptiveThrottling", (*ClientOptions).SetAdaptiveThrottling, get)

	retries := Client().ApplyURI("mongodb://example.com/?adaptiveRetries=true")
	require.NoError(t, retries.Validate())
	assert.Nil(t, retries.AdaptiveThrottling, "which is another option")
}
