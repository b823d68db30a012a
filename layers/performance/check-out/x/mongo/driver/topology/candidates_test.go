package topology

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sort"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/serverselector"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// TestCandidates: unknown servers are none, and what a selector does to the candidates changes no description.
func TestCandidates(t *testing.T) {
	primary := description.Server{Addr: "a", Kind: description.ServerKindRSPrimary}
	secondary := description.Server{Addr: "b", Kind: description.ServerKindRSSecondary}
	unknown := description.Server{Addr: "c"}
	all := []description.Server{primary, secondary, unknown}
	for _, tt := range []struct{ servers, want []description.Server }{
		{all[:2], []description.Server{primary, secondary}},
		{all[:1], []description.Server{primary}},
		{all, []description.Server{primary, secondary}},
		{all[2:], []description.Server{}},
		{all[:0], []description.Server{}},
	} {
		got := candidates(tt.servers)
		assert.Equal(t, tt.want, got)
		for i := range got {
			got[i].Addr = "x"
		}
		_ = append(got, description.Server{Addr: "d"})
		assert.Equal(t, []description.Server{primary, secondary, unknown}, all)
	}

	write := func() { _, _ = new(serverselector.Write).SelectServer(description.Topology{}, candidates(all[:2])) }
	assert.Equal(t, float64(1), testing.AllocsPerRun(10, write), "a single primary is not copied again")

	none := errors.New("none")
	failing := serverselector.Func(func(description.Topology, []description.Server) ([]description.Server, error) { return nil, none })
	_, err := (&Topology{}).selectServerFromDescription(description.Topology{Servers: all}, failing)
	assert.True(t, errors.Is(err, none), "got %v", err)
}

// TestRemovedServerStaysInFormerDescriptions: a selection may still read it, when SRV records no longer have it.
func TestRemovedServerStaysInFormerDescriptions(t *testing.T) {
	former := []description.Server{{Addr: "a"}, {Addr: "b"}, {Addr: "c"}}
	f := newFSM()
	f.Servers = former
	f.removeServer(1)
	assert.Equal(t, []description.Server{{Addr: "a"}, {Addr: "c"}}, f.Servers)
	assert.Equal(t, []description.Server{{Addr: "a"}, {Addr: "b"}, {Addr: "c"}}, former)
}

// selectors are the driver's, and those that an application may write.
var selectors = map[string]description.ServerSelector{
	"nearest":   &serverselector.ReadPref{ReadPref: readpref.Nearest()},
	"secondary": &serverselector.ReadPref{ReadPref: readpref.SecondaryPreferred()},
	"within 15 ms": &serverselector.Composite{Selectors: []description.ServerSelector{
		&serverselector.ReadPref{ReadPref: readpref.SecondaryPreferred()}, &serverselector.Latency{Latency: 15 * time.Millisecond},
	}},
	"sorts": serverselector.Func(func(_ description.Topology, list []description.Server) ([]description.Server, error) {
		sort.Slice(list, func(i, j int) bool { return list[i].Addr > list[j].Addr })
		return list, nil
	}),
	"overwrites": serverselector.Func(func(_ description.Topology, list []description.Server) ([]description.Server, error) {
		suitable := append([]description.Server{}, list...)
		for i := range list {
			list[i] = description.Server{Addr: "overwritten"}
		}
		return suitable, nil
	}),
}

// TestParallelSelections: while many goroutines select among equal servers, and heartbeats come, no description changes that was
// published, and at the end each server is still described and selected.
func TestParallelSelections(t *testing.T) {
	t.Parallel()
	two, three := []address.Address{"a:1", "b:1"}, []address.Address{"a:1", "b:1", "c:1"}
	kinds := map[string]struct {
		topology description.TopologyKind
		server   description.ServerKind
		hosts    []address.Address
	}{
		"two routers":           {description.TopologyKindSharded, description.ServerKindMongos, two},
		"three routers":         {description.TopologyKindSharded, description.ServerKindMongos, three},
		"set without a primary": {description.TopologyKindReplicaSetNoPrimary, description.ServerKindRSSecondary, two},
	}
	for name, kind := range kinds {
		for selects, selector := range selectors {
			kind, selector := kind, selector
			t.Run(name+", "+selects, func(t *testing.T) {
				t.Parallel()
				topo := newTopology(t, options.Client())
				know(topo, kind.topology, kind.server, kind.hosts...)
				selectInParallel(t, topo, selector)
			})
		}
	}
}

func selectInParallel(t *testing.T, topo *Topology, selector description.ServerSelector) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // ends a selection that finds no server
	defer cancel()
	first := topo.Description()
	before := fmt.Sprintf("%+v", first.Servers)
	heartbeats := append([]description.Server{}, first.Servers...)

	inParallel(33, 100, func(g, _ int) {
		if g > 0 {
			_, err := topo.SelectServer(ctx, selector)
			assert.NoError(t, err)
			return
		}
		for _, beat := range heartbeats {
			published := topo.Description().Servers
			was := fmt.Sprintf("%+v", published)
			topo.apply(ctx, beat)
			if is := fmt.Sprintf("%+v", published); is != was {
				t.Errorf("a published description changed from\n%s to\n%s", was, is)
			}
		}
	})

	assert.Equal(t, before, fmt.Sprintf("%+v", first.Servers))
	assert.Equal(t, before, fmt.Sprintf("%+v", topo.Description().Servers))
	selected := selections(t, topo, selector)
	assert.Len(t, selected, len(heartbeats), "%v", selected)
}

// idlePool is a pool with idle connections.
func idlePool(t *testing.T, monitor *event.PoolMonitor, connections int) *pool {
	t.Helper()
	p := newPool(poolConfig{PoolMonitor: monitor, MaintainInterval: -1})
	require.NoError(t, p.ready())
	for i := 0; i < connections; i++ {
		c := newConnection("a:27017")
		close(c.connectDone)
		c.pool, c.state, c.driverConnectionID = p, connConnected, int64(i+1)
		p.conns[c.driverConnectionID] = c
		p.idleConns = append(p.idleConns, c)
	}
	t.Cleanup(func() { p.close(context.Background()) })
	return p
}

// TestTakeIdle: the last connection that was returned is taken, with and without a monitor, and not if it has perished.
func TestTakeIdle(t *testing.T) {
	t.Parallel()
	var events []string
	for _, monitor := range []*event.PoolMonitor{nil, {Event: func(e *event.PoolEvent) { events = append(events, e.Type) }}} {
		p := idlePool(t, monitor, 3)
		p.idleConns[1].state = connDisconnected
		for _, want := range []int64{3, 1} {
			c, err := p.checkOut(context.Background())
			require.NoError(t, err)
			assert.Equal(t, want, c.driverConnectionID)
		}
		assert.Equal(t, []int{0, 2}, []int{p.availableConnectionCount(), p.totalConnectionCount()})
		assert.Nil(t, p.takeIdle())
		assert.NotNil(t, idlePool(t, nil, 1).takeIdle())
	}
	assert.Equal(t, []string{
		event.ConnectionPoolCreated, event.ConnectionPoolReady,
		event.ConnectionCheckOutStarted, event.ConnectionCheckedOut,
		event.ConnectionCheckOutStarted, event.ConnectionClosed, event.ConnectionCheckedOut,
	}, events)
}

// TestIdleConnectionIsTakenOnce: of many goroutines that take and return idle connections, no two have the same one.
func TestIdleConnectionIsTakenOnce(t *testing.T) {
	t.Parallel()
	const connections = 8
	p := idlePool(t, nil, connections)
	var used [connections + 1]int32
	inParallel(32, 200, func(int, int) {
		c := p.takeIdle()
		if c == nil {
			return
		}
		if !atomic.CompareAndSwapInt32(&used[c.driverConnectionID], 0, 1) {
			t.Errorf("connection %d has two users", c.driverConnectionID)
		}
		atomic.StoreInt32(&used[c.driverConnectionID], 0)
		if err := p.checkIn(c); err != nil {
			t.Error(err)
		}
	})
	assert.Equal(t, []int{connections, connections}, []int{p.availableConnectionCount(), p.totalConnectionCount()})
}

// TestPartsOfAConnection: what is checked out can be pinned, and compresses commands if the server can.
func TestPartsOfAConnection(t *testing.T) {
	c, server := piped(t)
	c.pool, c.compressor = idlePool(t, nil, 0), wiremessage.CompressorZLib
	c.pool.idleConns = append(c.pool.idleConns, c)
	out, err := (&Server{pool: c.pool, state: serverConnected}).Connection(context.Background())
	require.NoError(t, err)
	assert.NotNil(t, out.Pinner)
	ping := func(dst []byte, _ description.SelectedServer) ([]byte, error) {
		return bsoncore.AppendInt32Element(dst, "ping", 1), nil
	}
	op := driver.Operation{CommandFn: ping, Database: "admin", Deployment: driver.SingleConnectionDeployment{C: out}}
	go func() { _ = op.Execute(context.Background()) }()
	header := make([]byte, 16)
	_, _ = io.ReadFull(server, header)
	_, _, _, opcode, _, _ := wiremessage.ReadHeader(header)
	assert.Equal(t, wiremessage.OpCompressed, opcode)
}

// TestCheckedOutConnectionIsReturnedOnce: of many goroutines that close what was checked out, one returns it, and whoever kept it has no
// connection any more, even if another checkout has the same one.
func TestCheckedOutConnectionIsReturnedOnce(t *testing.T) {
	t.Parallel()
	p := idlePool(t, nil, 1)
	s := &Server{pool: p, state: serverConnected}
	var kept []*mnet.Connection
	for n := 0; n < 50; n++ {
		out, err := s.Connection(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		assert.Equal(t, int64(1), s.OperationCount())
		inParallel(8, 1, func(int, int) { _ = out.Close() })
		assert.Equal(t, 1, p.availableConnectionCount())
		assert.Equal(t, int64(0), s.OperationCount())
		kept = append(kept, out)
	}
	out, err := s.Connection(context.Background())
	assert.NoError(t, err)
	for _, old := range kept {
		_, err := old.Read(context.Background())
		assert.ErrorIs(t, err, ErrConnectionClosed)
		assert.NoError(t, old.Close())
	}
	assert.Equal(t, 0, p.availableConnectionCount())
	assert.NoError(t, out.Close())
}
