package topology

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

func TestPolicyHasRetryMonitorAndLogger(t *testing.T) {
	monitor := new(event.RetryMonitor)
	cfg, err := NewConfig(options.Client().SetRetryMonitor(monitor), nil)
	require.NoError(t, err)
	assert.True(t, cfg.overload.Monitor == monitor)
	assert.True(t, cfg.overload.Logger != nil && cfg.overload.Logger == cfg.logger, "the client's logger is not the policy's")

	cfg, err = NewConfig(options.Client(), nil)
	require.NoError(t, err)
	assert.Nil(t, cfg.overload.Monitor)
}
