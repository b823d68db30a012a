package topology

import (
	"context"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
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
	return driver.Operation{CommandFn: scripted.Named("ping"), Database: "admin", Deployment: d}.Execute(ctx)
}

// know lets a topology know servers of a kind that are equal, none of which is connected.
func know(topo *Topology, kind description.TopologyKind, server description.ServerKind, hosts ...address.Address) {
	topo.state, topo.fsm.Kind = topologyConnected, kind
	for _, host := range hosts {
		topo.fsm.Servers = append(topo.fsm.Servers, description.Server{
			Addr: host, CanonicalAddr: host, Members: hosts, Kind: server, AverageRTTSet: true, HeartbeatInterval: time.Second,
		})
		topo.servers[host] = NewServer(host, topo.id, defaultConnectionTimeout, topo.cfg.ServerOpts...)
	}
	topo.desc.Store(topo.fsm.Topology)
}

// selections returns how often each server is selected. One that can be selected is missing in fewer than one run of 10^15.
func selections(t testing.TB, topo *Topology, selector description.ServerSelector) map[address.Address]int {
	counts := map[address.Address]int{}
	for i := 0; i < 200; i++ {
		server, err := topo.SelectServer(context.Background(), selector)
		require.NoError(t, err)
		counts[server.(*SelectedServer).address]++
	}
	return counts
}

// dials makes a server's connections so.
func dials(dial DialerFunc) ServerOption {
	return WithConnectionOptions(func(...ConnectionOption) []ConnectionOption {
		return []ConnectionOption{WithDialer(func(Dialer) Dialer { return dial })}
	})
}

// inParallel calls f in many goroutines, many times each.
func inParallel(goroutines, times int, f func(goroutine, n int)) {
	var working sync.WaitGroup
	for g := 0; g < goroutines; g++ {
		g := g
		working.Add(1)
		go func() {
			defer working.Done()
			for n := 0; n < times; n++ {
				f(g, n)
			}
		}()
	}
	working.Wait()
}

// TestPoolThatNothingMonitorsIsReady is about servers that no check tells of.
func TestPoolThatNothingMonitorsIsReady(t *testing.T) {
	yes := func(bool) bool { return true }
	for _, option := range []ServerOption{WithServerLoadBalanced(yes), withMonitoringDisabled(yes)} {
		server := NewServer("a", bson.NewObjectID(), defaultConnectionTimeout, option)
		require.NoError(t, server.Connect(nil))
		assert.Equal(t, poolReady, server.pool.getState())
		require.NoError(t, server.Disconnect(context.Background()))
	}
}

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
