package topology

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/eventtest"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// poolEvents are the types of the events of pools.
func poolEvents(monitor *eventtest.TestPoolMonitor) []string {
	var types []string
	for _, e := range monitor.Events() {
		types = append(types, e.Type)
	}
	return types
}

func newTopology(t *testing.T, opts *options.ClientOptions) *Topology {
	t.Helper()

	cfg, err := NewConfig(opts, nil)
	require.NoError(t, err)
	topology, err := New(cfg)
	require.NoError(t, err)
	return topology
}

func ping(ctx context.Context, d driver.Deployment) error {
	return driver.Operation{
		CommandFn: func(dst []byte, _ description.SelectedServer) ([]byte, error) {
			return bsoncore.AppendInt32Element(dst, "ping", 1), nil
		},
		Database:   "admin",
		Deployment: d,
	}.Execute(ctx)
}

// TestPoolIsPausedUntilItsServerIsKnown is about servers whose first heartbeats fail: there is no pool to clear, and none to fill.
func TestPoolIsPausedUntilItsServerIsKnown(t *testing.T) {
	const turnedAway = 3
	uris := map[string]string{"": "discovered", "&directConnection=true": "direct", "&minPoolSize=1": "minPoolSize"}
	for option, name := range uris {
		option := option
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := scripted.Listen(t, scripted.OK(), nil)
			l.Refuse.Store(turnedAway)
			pools, heartbeats := eventtest.NewTestPoolMonitor(), make(chan []string, 2*turnedAway)
			opts := options.Client().ApplyURI(l.URI() + option).SetPoolMonitor(pools.PoolMonitor)
			opts.SetServerMonitor(&event.ServerMonitor{ServerHeartbeatFailed: func(*event.ServerHeartbeatFailedEvent) {
				heartbeats <- poolEvents(pools)
			}})
			cfg, err := NewConfig(opts, nil)
			require.NoError(t, err)
			topology, err := New(cfg)
			require.NoError(t, err)
			require.NoError(t, topology.Connect())
			defer func() { require.NoError(t, topology.Disconnect(context.Background())) }()

			require.NoError(t, ping(context.Background(), topology))
			require.Len(t, heartbeats, turnedAway)
			for i := 0; i < turnedAway; i++ {
				assert.Equal(t, []string{event.ConnectionPoolCreated}, <-heartbeats, "when heartbeat %d has failed", i)
			}
			assert.Equal(t, []string{event.ConnectionPoolCreated, event.ConnectionPoolReady}, poolEvents(pools)[:2])
			assert.False(t, pools.IsPoolCleared())
		})
	}
}

// TestPoolThatNothingMonitorsIsReady is about servers that no check tells of.
func TestPoolThatNothingMonitorsIsReady(t *testing.T) {
	tests := map[string]ServerOption{
		"load balancer": WithServerLoadBalanced(func(bool) bool { return true }),
		"no monitoring": withMonitoringDisabled(func(bool) bool { return true }),
	}
	for name, option := range tests {
		option := option
		t.Run(name, func(t *testing.T) {
			server := NewServer("a", newTopology(t, options.Client()).id, defaultConnectionTimeout, option)
			require.NoError(t, server.Connect(nil))
			assert.Equal(t, poolReady, server.pool.getState())
			require.NoError(t, server.Disconnect(context.Background()))
		})
	}
}

// TestKnownServerMakesItsPoolReady is about what kinds of servers do so: all that answer.
func TestKnownServerMakesItsPoolReady(t *testing.T) {
	for kind, want := range map[description.ServerKind]int{
		description.Unknown:                poolPaused,
		description.ServerKindStandalone:   poolReady,
		description.ServerKindRSPrimary:    poolReady,
		description.ServerKindMongos:       poolReady,
		description.ServerKindRSArbiter:    poolReady,
		description.ServerKindRSGhost:      poolReady,
		description.ServerKindRSMember:     poolReady,
		description.ServerKindLoadBalancer: poolReady,
		description.ServerKindRSSecondary:  poolReady,
	} {
		server := NewServer("a", newTopology(t, options.Client()).id, defaultConnectionTimeout)
		server.updateDescription(description.Server{Addr: "a", Kind: kind})
		assert.Equal(t, want, server.pool.getState(), kind.String())
		server.pool.close(context.Background())
	}
}

func TestConnectTwice(t *testing.T) {
	server := NewServer("a", newTopology(t, options.Client()).id, time.Second, withMonitoringDisabled(func(bool) bool { return true }))
	require.NoError(t, server.Connect(nil))
	assert.Equal(t, ErrServerConnected, server.Connect(nil))
	require.NoError(t, server.Disconnect(context.Background()))
	assert.Equal(t, ErrPoolNotPaused, server.Connect(nil), "its pool is closed for good")
}
