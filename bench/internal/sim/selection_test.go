package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/bench/internal/arrival"
)

// member is three servers at 60 % of their capacity, of which the first admits so small a part of its share of the load. It
// is what the measurements put on real drivers.
func member(p Policy, selection Selection, overload float64) Scenario {
	const load, capacity = 0.6, 200
	return Scenario{
		Policy: p, Selection: selection, Servers: 3, Clients: 10, Capacity: capacity, RejectionCost: 0.1, Queue: 100 * time.Millisecond,
		Limit: load * capacity / overload, LimitedFor: time.Hour,
		Load: arrival.Load{Base: load}, Warmup: 2 * time.Second, Duration: 20 * time.Second, Seed: 1,
	}
}

// TestRejectionsAttract is about what is wrong with the operations in progress alone: servers that reject have fewer.
func TestRejectionsAttract(t *testing.T) {
	atRandom, err := Run(member(NoRetry, AtRandom, 2))
	require.NoError(t, err)
	assert.InDelta(t, 1.0/6, atRandom.Errors, 0.01, "half of a third")
	twoChoices, err := Run(member(NoRetry, TwoChoices, 2))
	require.NoError(t, err)
	assert.Greater(t, twoChoices.Errors, atRandom.Errors+0.01)
}

// TestSelectionWithRejections has the figures of the measurements with real drivers, to what single runs differ by.
func TestSelectionWithRejections(t *testing.T) {
	tests := []struct{ overload, without, with float64 }{
		{1.25, 1.07, 1.02},
		{2, 1.20, 1.06},
		{4, 1.31, 1.09},
	}
	for _, tt := range tests {
		_, without := simulate(t, member(FullBucket, TwoChoices, tt.overload))
		assert.InDelta(t, tt.without, without.mean, 0.03, "at %v ×, operations in progress", tt.overload)
		_, with := simulate(t, member(FullBucket, WithRejections, tt.overload))
		assert.InDelta(t, tt.with, with.mean, 0.015, "at %v ×, with rejections", tt.overload)
	}
}

// TestShareComesBack is about the end of the overload, with clients that have met many rejections.
func TestShareComesBack(t *testing.T) {
	s := member(FullBucket, WithRejections, 4)
	s.Capacity *= 25
	s.Limit *= 25
	s.LimitedFor, s.Duration, s.Interval = 2*time.Second, 4*time.Second, 500*time.Millisecond
	r, err := Run(s)
	require.NoError(t, err)
	assert.Less(t, r.FirstServer[3], 0.12, "while it admits a quarter of its share")
	assert.Greater(t, r.FirstServer[4], 0.12, "in the first half second after")
	assert.InDelta(t, 1.0/3, r.FirstServer[5], 0.02, "in the second")
}

// TestRejectionsDoNoHarmWhereAllAreOverloaded is about servers that are all the same: which is chosen must not matter.
func TestRejectionsDoNoHarmWhereAllAreOverloaded(t *testing.T) {
	for _, policy := range []Policy{NoRetry, DrainedBucket} {
		s := overload(policy, 1.5, 0.1)
		s.Servers, s.Clients, s.Capacity, s.Selection = 3, 10, 500, TwoChoices
		without, _ := simulate(t, s)
		s.Selection = WithRejections
		with, _ := simulate(t, s)
		assert.InDelta(t, without.mean, with.mean, 0.005+4*(without.err+with.err), "goodput, %s", policy)
	}
}

func TestLimiter(t *testing.T) {
	l := newLimiter(50, time.Second)
	admitted := func(at time.Duration) (n int) {
		for range 100 {
			if l.admits(at) {
				n++
			}
		}
		return n
	}
	assert.Equal(t, 5, admitted(0), "what is saved up in 100 ms")
	assert.Zero(t, admitted(19*time.Millisecond))
	assert.Equal(t, 1, admitted(21*time.Millisecond))
	assert.Equal(t, 5, admitted(900*time.Millisecond))
	assert.Equal(t, 100, admitted(time.Second), "it has been lifted")
	var none *limiter
	assert.True(t, none.admits(0))
}

func TestRetriesLeaveAServerThatRejectedByAnySelection(t *testing.T) {
	for _, selection := range []Selection{TwoChoices, WithRejections} {
		for _, servers := range []int{2, 3} {
			r := newRun(Scenario{
				Policy: FiveRetries, Selection: selection, Servers: servers, Clients: 1, Capacity: 1000, Load: arrival.Load{Base: 1}, Seed: 1,
			})
			op := &operation{server: noServer, client: r.clients[0]}
			for range 100 {
				before := op.server
				r.send(op)
				require.NotEqual(t, before, op.server)
			}
		}
	}
}
