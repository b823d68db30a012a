package topology

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/throttle"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// TestServersThrottleApart: what a client learns of one server says nothing of another.
func TestServersThrottleApart(t *testing.T) {
	topology := newTopology(t, options.Client().SetAdaptiveThrottling(true))
	clock := &manualClock{time.Unix(1, 0)}
	topology.cfg.overload.Clock = clock
	for _, host := range []address.Address{"a:27017", "b:27017"} {
		topology.servers[host] = NewServer(host, topology.id, defaultConnectionTimeout, topology.cfg.ServerOpts...)
	}
	require.Equal(t, map[string]float64{"localhost:27017": 0, "a:27017": 0, "b:27017": 0}, withLocalhost(topology.ThrottleProbabilities()))

	var selected driver.Server = &SelectedServer{Server: topology.servers["a:27017"]}
	addr, known := backpressure.ThrottleOf(selected)
	assert.Equal(t, address.Address("a:27017"), addr)
	for i := 0; i < 9; i++ {
		known.Ended(throttle.Attempt{First: true, Write: true}, true, 0)
	}

	probabilities := topology.ThrottleProbabilities()
	assert.InDelta(t, 1.0, probabilities["a:27017"], 1e-9, "of writes")
	assert.True(t, probabilities["a:27017"] < 1)
	assert.Equal(t, 0.0, probabilities["b:27017"])
	clock.time = clock.time.Add(time.Minute)
	assert.Equal(t, 0.0, topology.ThrottleProbabilities()["a:27017"])
}

// TestRefusedConnectionsThrottle: connections that are refused count once there is a herd of them, not those of one command.
func TestRefusedConnectionsThrottle(t *testing.T) {
	t.Run("without the option each counts", func(t *testing.T) {
		s := newSelectionWith(t, options.Client(), description.TopologyKindSingle, description.ServerKindStandalone, "a:27017")
		s.topology.servers["a:27017"].ProcessHandshakeError(errRejected, 0, nil)
		_, accepted := s.topology.servers["a:27017"].throttle.State(false)
		assert.Equal(t, 0.0, accepted)
	})
	for _, tt := range []struct {
		name  string
		n     int
		every time.Duration
		want  float64
	}{
		{name: "one command, with its retries", n: 6, want: 0},
		{name: "ten at once", n: 10, want: 0},
		{name: "a herd", n: 1000, want: 1},
		{name: "many, one after the other", n: 1000, every: 100 * time.Millisecond, want: 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSelection(t, description.TopologyKindSingle, description.ServerKindStandalone, "a:27017")
			for i := 0; i < tt.n; i++ {
				s.clock.time = s.clock.time.Add(tt.every)
				s.topology.servers["a:27017"].ProcessHandshakeError(errRejected, 0, nil)
			}
			assert.InDelta(t, tt.want, s.topology.ThrottleProbabilities()["a:27017"], 1e-9)
		})
	}
}

// withLocalhost adds the server that clients without a URI may know.
func withLocalhost(probabilities map[string]float64) map[string]float64 {
	probabilities["localhost:27017"] = 0
	return probabilities
}
