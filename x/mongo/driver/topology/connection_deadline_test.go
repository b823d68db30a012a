package topology

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// slowReply is a connection that gives its reply byte by byte, and notes the deadlines of its reads.
type slowReply struct {
	net.Conn
	reply     []byte
	deadlines []time.Time
}

func (s *slowReply) SetReadDeadline(deadline time.Time) error {
	s.deadlines = append(s.deadlines, deadline)
	return nil
}

func (s *slowReply) Read(p []byte) (int, error) {
	if len(s.reply) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:1], s.reply)
	s.reply = s.reply[n:]
	return n, nil
}

func established(nc net.Conn) *connection {
	conn := newConnection("a:27017")
	conn.nc, conn.state = nc, connConnected
	return conn
}

// piped returns an established connection to a server that does nothing until the test does.
func piped(t *testing.T) (*connection, net.Conn) {
	t.Helper()
	client, server := net.Pipe()
	c := established(client)
	t.Cleanup(func() {
		_ = c.close()
		_ = server.Close()
	})
	return c, server
}

func newTopology(t *testing.T, opts *options.ClientOptions) *Topology {
	t.Helper()
	cfg, err := NewConfig(opts, nil)
	require.NoError(t, err)
	topology, err := New(cfg)
	require.NoError(t, err)
	return topology
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

// TestOneDeadlineForAllReads is about a reply that comes in many parts: all reads have the deadline of the context, none has a new one
// (client-side-operations-timeout.md, "Command Execution").
func TestOneDeadlineForAllReads(t *testing.T) {
	reply := []byte{20, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4}
	nc := &slowReply{reply: reply}
	until := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	read, err := established(nc).readWireMessage(ctx)
	require.NoError(t, err)
	assert.Equal(t, reply, read)
	assert.Equal(t, []time.Time{until}, nc.deadlines)
}

// TestTimeIsUpBeforeReading is about a command whose time is up when it has been written: no reply is waited for, and the error is a
// timeout (client-side-operations-timeout.md, "Command Execution").
func TestTimeIsUpBeforeReading(t *testing.T) {
	c, _ := piped(t)
	ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	_, err := c.readWireMessage(ctx)
	assert.True(t, errors.Is(err, context.DeadlineExceeded), "%v", err)
}
