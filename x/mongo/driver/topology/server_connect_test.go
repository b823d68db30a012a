package topology

import (
	"context"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

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

// TestPoolThatNothingMonitorsIsReady is about servers that no check tells of.
func TestPoolThatNothingMonitorsIsReady(t *testing.T) {
	tests := map[string]ServerOption{
		"load balancer": WithServerLoadBalanced(func(bool) bool { return true }),
		"no monitoring": withMonitoringDisabled(func(bool) bool { return true }),
	}
	for name, option := range tests {
		t.Run(name, func(t *testing.T) {
			server := NewServer("a", newTopology(t, options.Client()).id, defaultConnectionTimeout, option)
			require.NoError(t, server.Connect(nil))
			assert.Equal(t, poolReady, server.pool.getState())
			require.NoError(t, server.Disconnect(context.Background()))
		})
	}
}

// TestLoadBalancedTopologyEvents is about what is published of a topology behind a load balancer, from its beginning to its end: it starts
// as LoadBalanced, and no heartbeat is sent (load-balancers.md, "Monitoring").
func TestLoadBalancedTopologyEvents(t *testing.T) {
	var seen []string
	note := func(what string) { seen = append(seen, what) }
	monitor := &event.ServerMonitor{
		TopologyOpening: func(*event.TopologyOpeningEvent) { note("topology opening") },
		ServerOpening:   func(*event.ServerOpeningEvent) { note("server opening") },
		TopologyDescriptionChanged: func(e *event.TopologyDescriptionChangedEvent) {
			for _, d := range []event.TopologyDescription{e.PreviousDescription, e.NewDescription} {
				what := d.Kind
				for _, server := range d.Servers {
					what += " with " + server.Kind
				}
				note(what)
			}
		},
		ServerDescriptionChanged: func(e *event.ServerDescriptionChangedEvent) {
			note("server " + e.PreviousDescription.Kind)
			note("server " + e.NewDescription.Kind)
		},
		ServerClosed:           func(*event.ServerClosedEvent) { note("server closed") },
		TopologyClosed:         func(*event.TopologyClosedEvent) { note("topology closed") },
		ServerHeartbeatStarted: func(*event.ServerHeartbeatStartedEvent) { note("heartbeat") },
	}
	topology := newTopology(t, options.Client().ApplyURI("mongodb://127.0.0.1:1/?loadBalanced=true").SetServerMonitor(monitor))
	require.NoError(t, topology.Connect())
	require.NoError(t, topology.Disconnect(context.Background()))
	assert.Equal(t, []string{
		"topology opening", "Unknown", "LoadBalanced with Unknown",
		"server opening", "server Unknown", "server LoadBalancer", "LoadBalanced with Unknown", "LoadBalanced with LoadBalancer",
		"server closed", "LoadBalanced with LoadBalancer", "Unknown", "topology closed",
	}, seen)
}

// TestErrorsBehindALoadBalancerChangeNothing is about errors after which a server would become Unknown: a load balancer does not, and only
// connections to the service are closed (load-balancers.md, "Error Handling").
func TestErrorsBehindALoadBalancerChangeNothing(t *testing.T) {
	for name, failure := range map[string]error{
		"not primary":   driver.Error{Code: 10107, Name: "NotWritablePrimary"},
		"shutting down": driver.Error{Code: 91, Name: "ShutdownInProgress"},
		"write concern": driver.WriteCommandError{WriteConcernError: &driver.WriteConcernError{Code: 91, Name: "ShutdownInProgress"}},
		"network":       driver.Error{Labels: []string{driver.NetworkError}, Wrapped: ConnectionError{Wrapped: io.EOF}},
	} {
		server := NewServer("a", newTopology(t, options.Client()).id, defaultConnectionTimeout,
			WithServerLoadBalanced(func(bool) bool { return true }))
		require.NoError(t, server.Connect(nil))
		before := server.Description()
		services := []bson.ObjectID{bson.NewObjectID(), bson.NewObjectID()}
		for i := range services {
			server.pool.generation.addConnection(&services[i])
		}
		server.ProcessError(failure, describer{desc: description.Server{Kind: description.ServerKindLoadBalancer, ServiceID: &services[0]}})
		assert.Equal(t, before, server.Description(), name)
		for i, want := range []uint64{1, 0} {
			generation, _ := server.pool.generation.getGeneration(&services[i])
			assert.Equal(t, want, generation, "%s: service %d", name, i)
		}
		require.NoError(t, server.Disconnect(context.Background()))
	}
}

// describer is a connection to a service.
type describer struct {
	mnet.Describer
	desc description.Server
}

func (d describer) Description() description.Server { return d.desc }
func (describer) Stale() bool                       { return false }

// TestChecksLeaveNoGoroutine is about what waits for the server's end beside a check: it ends with the check.
func TestChecksLeaveNoGoroutine(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close()) // so that connections are refused
	server := NewServer(address.Address(listener.Addr().String()), bson.NewObjectID(), time.Minute)
	for i := 0; i < 3; i++ {
		_, err := server.check(context.Background())
		require.NoError(t, err, "the description has the error")
	}
	stacks := make([]byte, 1<<20)
	for end := time.Now().Add(time.Minute); ; runtime.Gosched() {
		waiting := strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "(*Server).check.func")
		if waiting == 0 {
			return
		}
		require.True(t, time.Now().Before(end), "%d goroutines are left", waiting)
	}
}
