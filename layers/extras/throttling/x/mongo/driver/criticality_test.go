package driver_test

import (
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/logger"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// learning returns a script with a server that has rejected something, but refuses nothing while the policy learns.
func learning(t *testing.T) (s *scripted.Script, learn func(reply any, times int, run func() error)) {
	s = throttled(t, nil, nil, "a")
	reject(s, "a", 1)
	s.Policy.RetryReads = false
	return s, func(reply any, times int, run func() error) {
		s.Policy.Jitter = func() float64 { return 0.999999 }
		for i := 0; i < times; i++ {
			s.Replies = []any{reply}
			_ = run()
		}
		s.Policy.Jitter = func() float64 { return 0.1 }
	}
}

// isRefused reports whether an attempt is withheld. One that is sent is accepted.
func isRefused(s *scripted.Script, run func() error) bool {
	s.Replies = []any{scripted.OK()}
	var refused driver.Error
	return errors.As(run(), &refused) && refused.Name == "Throttled"
}

// TestThrottledClasses: operations are counted by their class, and the least critical are withheld first.
func TestThrottledClasses(t *testing.T) {
	s, learn := learning(t)
	read := func(c event.Criticality) func() error {
		return func() error { return s.Read().Execute(marked(c)) }
	}
	learn(scripted.OK(), 20, read(event.CriticalityNormal)) // that the server has rejected one thing holds nothing back
	learn(scripted.OK(), 30, read(event.CriticalitySheddable))
	learn(scripted.OK(), 10, read(event.CriticalityCritical))
	learn(scripted.Overloaded(), 30, read(event.CriticalitySheddable))
	require.Equal(t, 90, len(s.Sent))

	assert.True(t, isRefused(s, read(event.CriticalitySheddable)))
	assert.False(t, isRefused(s, read(event.CriticalityNormal)))
	assert.False(t, isRefused(s, read(event.CriticalityCritical)))
}

// TestThrottleLearnsOfPinnedCursors: behind a load balancer a cursor knows its server only as what processes errors.
func TestThrottleLearnsOfPinnedCursors(t *testing.T) {
	s := throttled(t, []any{scripted.OpenedCursor(), scripted.Failure(43)}, nil, "a")
	s.Topology, s.Servers[0].Kind = description.TopologyKindLoadBalanced, description.ServerKindLoadBalancer
	reject(s, "a", 1)
	assert.Error(t, getMore(openCursor(t, s, false)))
	assert.InDelta(t, 1.0/2, accepted(s, "a", true), 1e-9, "opening it was accepted, and getMore does not count")
}

// TestCriticalityIsTold: the class is in events, and in errors and lines unless it is normal.
func TestCriticalityIsTold(t *testing.T) {
	for _, class := range []event.Criticality{event.CriticalitySheddable, event.CriticalityNormal, event.CriticalityCritical} {
		s := scripted.New(t, scripted.Repeat(6, scripted.Overloaded())...)
		r := record(s)
		sink := logTo(t, s, logger.LevelDebug)
		err := s.Execute(marked(class), s.Read())
		require.Len(t, r.decided, 6)
		for _, e := range r.decided {
			assert.Equal(t, class, e.Criticality)
		}
		require.Len(t, r.finished, 1)
		assert.Equal(t, class, r.finished[0].Criticality)
		assert.Equal(t, class, scripted.As[*event.RetryError](t, err).Criticality)
		assert.Len(t, sink.keys, 7)
		for _, keys := range sink.keys {
			got, found := keys["criticality"]
			assert.Equal(t, class != event.CriticalityNormal, found)
			assert.True(t, !found || got == class.String(), "%v: %v", class, got)
		}
	}
}
