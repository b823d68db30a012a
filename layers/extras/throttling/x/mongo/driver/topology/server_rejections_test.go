package topology

import (
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/serverselector"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

// manualClock shows the time that it is set to, and never waits.
type manualClock struct{ time time.Time }

func (c *manualClock) Now() time.Time { return c.time }

func (c *manualClock) Sleep(ctx, _ context.Context, _ <-chan struct{}, _ time.Duration) error {
	return ctx.Err()
}

// freshConnection describes a connection of the present generation.
type freshConnection struct{ mnet.Describer }

func (freshConnection) Stale() bool { return false }

func (freshConnection) Description() description.Server { return description.Server{} }

// selection is a topology whose servers are known and do nothing, and the clock that they count by.
type selection struct {
	testing.TB
	clock    manualClock
	topology *Topology
}

// newSelection returns the selection of a client with adaptiveThrottling.
func newSelection(t testing.TB, kind description.TopologyKind, server description.ServerKind, hosts ...address.Address) *selection {
	return newSelectionWith(t, options.Client().SetAdaptiveThrottling(true), kind, server, hosts...)
}

func newSelectionWith(
	t testing.TB, opts *options.ClientOptions, kind description.TopologyKind, server description.ServerKind, hosts ...address.Address,
) *selection {
	s := &selection{TB: t, clock: manualClock{time.Unix(1, 0)}}
	cfg, err := NewConfig(opts, nil)
	require.NoError(t, err)
	cfg.overload.Clock = &s.clock
	s.topology, err = New(cfg)
	require.NoError(t, err)

	s.topology.state = topologyConnected
	desc := description.Topology{Kind: kind}
	for _, host := range hosts {
		desc.Servers = append(desc.Servers, description.Server{Addr: host, Kind: server, AverageRTTSet: true})
		s.topology.servers[host] = NewServer(host, s.topology.id, defaultConnectionTimeout, cfg.ServerOpts...)
	}
	s.topology.desc.Store(desc)
	return s
}

// reject lets servers reject a command each.
func (s *selection) reject(hosts ...address.Address) {
	for _, host := range hosts {
		s.topology.servers[host].ProcessError(errRejected, freshConnection{})
	}
}

// selected returns how often each server is selected. One that can be selected is missing in fewer than one run of 10^15.
func (s *selection) selected() map[address.Address]int {
	const times = 200
	counts := map[address.Address]int{}
	for i := 0; i < times; i++ {
		server, err := s.topology.SelectServer(context.Background(), &serverselector.ReadPref{ReadPref: readpref.Nearest()})
		require.NoError(s, err)
		counts[server.(*SelectedServer).address]++
	}
	return counts
}

func (s *selection) expect(when string, hosts ...address.Address) {
	s.Helper()
	counts := s.selected()
	assert.Len(s, counts, len(hosts), "%s: %v were selected", when, counts)
	for _, host := range hosts {
		assert.NotEmpty(s, counts[host], "%s: %v is not selected", when, host)
	}
}

// TestSelectionWeighsRejections is about what a rejection is worth: as much as an operation in progress.
func TestSelectionWeighsRejections(t *testing.T) {
	s := newSelection(t, description.TopologyKindReplicaSetNoPrimary, description.ServerKindRSSecondary, "a", "b")
	s.topology.servers["b"].operationCount = 2
	s.expect("b is busy", "a")
	s.reject("a")
	s.expect("a has rejected, b is busier", "a")
	s.reject("a")
	s.expect("as much", "a", "b")
	s.reject("a")
	s.expect("a has rejected more", "b")
	s.clock.time = s.clock.time.Add(200 * time.Millisecond)
	s.expect("a while later", "a", "b")
	s.clock.time = s.clock.time.Add(time.Second)
	s.expect("later", "a")
}

// TestServerCountsConnections is about connections that were not established: those that the server may have closed because it is
// overloaded count.
func TestServerCountsConnections(t *testing.T) {
	for want, err := range []error{ConnectionError{Wrapped: io.EOF}, ConnectionError{Wrapped: io.EOF, overloaded: true}} {
		s := newSelection(t, description.TopologyKindSingle, description.ServerKindStandalone, "a")
		s.topology.servers["a"].ProcessHandshakeError(err, 0, nil)
		assert.Equal(t, int64(want), s.topology.servers["a"].load())
	}
}

func TestCommandsThatSucceedAllocateNothing(t *testing.T) {
	s := newSelection(t, description.TopologyKindSingle, description.ServerKindStandalone, "a")
	server := s.topology.servers["a"]
	assert.Equal(t, float64(0), testing.AllocsPerRun(100, func() { server.ProcessError(nil, freshConnection{}) }))
}

// TestServerWithoutOverloadPolicy is about servers that others make than the client.
func TestServerWithoutOverloadPolicy(t *testing.T) {
	server := NewServer("a", newTopology(t, options.Client()).id, defaultConnectionTimeout)
	server.ProcessError(errRejected, freshConnection{})
	assert.Equal(t, int64(0), server.load())
}

// TestSelectionOfServersThatLeft is about a server that leaves between the selection and the draw: SelectServer finds that out.
func TestSelectionOfServersThatLeft(t *testing.T) {
	hosts := []address.Address{"a:27017", "b:27017"}
	for _, left := range hosts {
		s := newSelection(t, description.TopologyKindReplicaSetNoPrimary, description.ServerKindRSSecondary, hosts...)
		s.reject("b:27017")
		delete(s.topology.servers, left)
		for i := 0; i < 20; i++ {
			assert.Len(t, s.topology.lessLoaded(s.topology.Description().Servers), 2)
		}
	}
}

func newRejections() (*recentRejections, *manualClock) {
	clock := &manualClock{time: time.Unix(1, 0)}
	return &recentRejections{now: clock.Now}, clock
}

func TestRejectionsConcurrent(t *testing.T) {
	const goroutines, each = 8, 100
	r, _ := newRejections()
	var wg sync.WaitGroup
	for i := 0; i < goroutines; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := 0; j < each; j++ {
				r.add()
				if got := r.count(); got < 1 || got > goroutines*each {
					t.Errorf("count is %d, want 1 to %d", got, goroutines*each)
				}
			}
		}()
	}
	wg.Wait()
	if got := r.count(); got != goroutines*each {
		t.Errorf("count is %d, want %d", got, goroutines*each)
	}
}
