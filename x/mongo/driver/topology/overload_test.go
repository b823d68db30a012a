package topology

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

func TestTopologyOverloadPolicy(t *testing.T) {
	tests := []struct {
		name          string
		opts          *options.ClientOptions
		reads, writes bool
	}{
		{name: "default", opts: options.Client(), reads: true, writes: true},
		{name: "retryReads off", opts: options.Client().SetRetryReads(false), reads: false, writes: true},
		{name: "retryWrites off", opts: options.Client().SetRetryWrites(false), reads: true, writes: false},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			policy := newTopology(t, tt.opts).cfg.overload.Policy
			assert.Equal(t, tt.reads, policy.RetryReads)
			assert.Equal(t, tt.writes, policy.RetryWrites)

			jitter := policy.Jitter()
			assert.True(t, jitter >= 0 && jitter < 1, "jitter %v", jitter)
		})
	}
}

// TestServersShareTheClientsOverloadPolicy is about cursors: they run their commands on a server, without the topology.
func TestServersShareTheClientsOverloadPolicy(t *testing.T) {
	client := newTopology(t, options.Client())
	for _, addr := range []address.Address{"a:27017", "b:27017"} {
		server := NewServer(addr, bson.NewObjectID(), 0, client.cfg.ServerOpts...)
		assert.True(t, client.cfg.overload == backpressure.PolicyOf(server))
		assert.True(t, client.cfg.overload == backpressure.PolicyOf(&SelectedServer{Server: server}))
	}
	assert.True(t, client.cfg.overload != newTopology(t, options.Client()).cfg.overload, "each client has its own")
}

// TestMonitoringIsExempt is about the commands of connection establishment, authentication and monitoring.
func TestMonitoringIsExempt(t *testing.T) {
	assert.Nil(t, backpressure.PolicyOf(driver.SingleConnectionDeployment{}))
}
