package topology

import (
	"io"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/serverselector"
	"go.mongodb.org/mongo-driver/v2/internal/throttle"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// manualClock shows the time that it is set to, and never waits.
type manualClock struct {
	impatientClock
	time time.Time
}

func (c *manualClock) Now() time.Time { return c.time }

// selection is a topology whose servers are known and do nothing, and the clock that they count by.
type selection struct {
	testing.TB
	clock    manualClock
	topology *Topology
}

// newSelection returns the selection of a client, from secondaries.
func newSelection(t *testing.T, opts *options.ClientOptions, hosts ...address.Address) *selection {
	s := &selection{TB: t, clock: manualClock{time: time.Unix(1, 0)}, topology: newTopology(t, opts)}
	s.topology.cfg.overload.Clock = &s.clock
	know(s.topology, description.TopologyKindReplicaSetNoPrimary, description.ServerKindRSSecondary, hosts...)
	return s
}

func throttling() *options.ClientOptions { return options.Client().SetAdaptiveThrottling(true) }

// reject lets servers reject a command each.
func (s *selection) reject(hosts ...address.Address) {
	for _, host := range hosts {
		s.topology.servers[host].ProcessError(errRejected, describer{})
	}
}

func (s *selection) expect(when string, hosts ...address.Address) {
	s.Helper()
	counts := selections(s, s.topology, &serverselector.ReadPref{ReadPref: readpref.Nearest()})
	assert.Len(s, counts, len(hosts), "%s: %v were selected", when, counts)
	for _, host := range hosts {
		assert.NotEmpty(s, counts[host], "%s: %v is not selected", when, host)
	}
}

// TestSelectionWeighsRejections is about what a rejection is worth: as much as an operation in progress.
func TestSelectionWeighsRejections(t *testing.T) {
	s := newSelection(t, throttling(), "a", "b")
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

// TestServerCountsConnections is about connections that were not established: those count that an overloaded server may have closed.
func TestServerCountsConnections(t *testing.T) {
	for want, err := range []error{ConnectionError{Wrapped: io.EOF}, ConnectionError{Wrapped: io.EOF, overloaded: true}} {
		s := newSelection(t, throttling(), "a")
		s.topology.servers["a"].ProcessHandshakeError(err, 0, nil)
		assert.Equal(t, int64(want), s.topology.servers["a"].load())
	}
}

func TestCommandsThatSucceedAllocateNothing(t *testing.T) {
	s := newSelection(t, throttling(), "a")
	server := s.topology.servers["a"]
	assert.Equal(t, float64(0), testing.AllocsPerRun(100, func() { server.ProcessError(nil, describer{}) }))
}

// TestServerWithoutOverloadPolicy is about servers that others make than the client.
func TestServerWithoutOverloadPolicy(t *testing.T) {
	server := NewServer("a", newTopology(t, options.Client()).id, defaultConnectionTimeout)
	server.ProcessError(errRejected, describer{})
	assert.Equal(t, int64(0), server.load())
}

// TestSelectionOfServersThatLeft is about a server that leaves between the selection and the draw: SelectServer finds that out.
func TestSelectionOfServersThatLeft(t *testing.T) {
	hosts := []address.Address{"a:27017", "b:27017"}
	for _, left := range hosts {
		s := newSelection(t, throttling(), hosts...)
		s.reject("b:27017")
		delete(s.topology.servers, left)
		for i := 0; i < 20; i++ {
			assert.Len(t, s.topology.lessLoaded(s.topology.Description().Servers), 2)
		}
	}
}

func TestRejectionsConcurrent(t *testing.T) {
	const goroutines, each = 8, 100
	r := &recentRejections{now: (&manualClock{time: time.Unix(1, 0)}).Now}
	inParallel(goroutines, each, func(int, int) {
		r.add()
		if got := r.count(); got < 1 || got > goroutines*each {
			t.Errorf("count is %d, want 1 to %d", got, goroutines*each)
		}
	})
	assert.Equal(t, int64(goroutines*each), r.count())
}

// TestServersThrottleApart: what a client learns of one server says nothing of another.
func TestServersThrottleApart(t *testing.T) {
	s := newSelection(t, throttling(), "a:27017", "b:27017")
	topology := s.topology
	before := topology.ThrottleProbabilities()
	delete(before, "localhost:27017") // which clients without a URI may know
	require.Equal(t, map[string]float64{"a:27017": 0, "b:27017": 0}, before)
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
	s.clock.time = s.clock.time.Add(time.Minute)
	assert.Equal(t, 0.0, topology.ThrottleProbabilities()["a:27017"])
}

// TestRefusedConnectionsThrottle: connections that are refused count once there is a herd of them, not those of one command.
func TestRefusedConnectionsThrottle(t *testing.T) {
	s := newSelection(t, options.Client(), "a:27017")
	s.topology.servers["a:27017"].ProcessHandshakeError(errRejected, 0, nil)
	_, accepted := s.topology.servers["a:27017"].throttle.State(false)
	assert.Equal(t, 0.0, accepted, "without the option each counts")
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
		s := newSelection(t, throttling(), "a:27017")
		for i := 0; i < tt.n; i++ {
			s.clock.time = s.clock.time.Add(tt.every)
			s.topology.servers["a:27017"].ProcessHandshakeError(errRejected, 0, nil)
		}
		assert.InDelta(t, tt.want, s.topology.ThrottleProbabilities()["a:27017"], 1e-9, tt.name)
	}
}
