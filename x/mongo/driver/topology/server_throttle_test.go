package topology

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
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
	addr, throttle := selected.(interface {
		Throttle() (address.Address, *retry.Throttle)
	}).Throttle()
	assert.Equal(t, address.Address("a:27017"), addr)
	throttle.Ended(true)

	probabilities := topology.ThrottleProbabilities()
	assert.Equal(t, 0.5, probabilities["a:27017"])
	assert.Equal(t, 0.0, probabilities["b:27017"])
	clock.time = clock.time.Add(time.Minute)
	assert.Equal(t, 0.0, topology.ThrottleProbabilities()["a:27017"])
}

// withLocalhost adds the server that clients without a URI may know.
func withLocalhost(probabilities map[string]float64) map[string]float64 {
	probabilities["localhost:27017"] = 0
	return probabilities
}

func TestWithoutAdaptiveThrottling(t *testing.T) {
	for name, opts := range map[string]*options.ClientOptions{
		"default": options.Client(), "off": options.Client().SetAdaptiveThrottling(false), "adaptiveRetries": options.Client().SetAdaptiveRetries(true),
	} {
		topology := newTopology(t, opts)
		assert.Nil(t, topology.ThrottleProbabilities(), name)
		assert.Nil(t, topology.OverloadPolicy().Policy.Throttling, name)
		server := NewServer("a:27017", topology.id, defaultConnectionTimeout, topology.cfg.ServerOpts...)
		_, throttle := server.Throttle()
		assert.Nil(t, throttle, name)
		throttle.Ended(true)
		assert.False(t, throttle.Active(), name)
	}
}
