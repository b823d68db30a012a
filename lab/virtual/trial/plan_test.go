package trial

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSameSeedSamePlan(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		assert.Equal(t, New(seed), New(seed))
		assert.NotEqual(t, New(seed), New(seed+1), "seeds %d and %d", seed, seed+1)
	}
}

// TestPlansHaveEverything is about 2,000 plans, the number that "make test" runs.
func TestPlansHaveEverything(t *testing.T) {
	t.Parallel()
	whats := []string{Error, Concern, Reject, Close, Lose, Drop, Slow, Abort, Tear, Lack, Silent, Refusing, Closing, Breaking, Reset, Stop, StepDown}
	seen, peaceful, passing, strict := map[string]bool{}, 0, 0, 0
	for seed := range uint64(2000) {
		p := New(seed)
		seen[p.Topology] = true
		for _, c := range p.Calls {
			require.Contains(t, kinds, c.Kind)
			require.Contains(t, ways, c.Way)
			seen[c.Kind], seen[c.Way] = true, true
			seen["a deadline"] = seen["a deadline"] || c.Deadline > 0
			seen["a cancellation"] = seen["a cancellation"] || c.Cancel > 0
			if p.Peaceful() {
				assert.Zero(t, c.Deadline+c.Cancel)
			}
		}
		for _, f := range p.Faults {
			require.Contains(t, whats, f.What)
			seen[f.What] = true
			if f.Passing {
				seen["passing "+f.What] = true
				assert.False(t, f.What == Reject && f.Times > p.Limit(), "seed %d: no retry gets over %+v", seed, f)
			}
		}
		switch {
		case p.Peaceful():
			peaceful++
		case p.Passes() && p.OnlyRejects():
			strict++
			fallthrough
		case p.Passes():
			passing++
		}
	}
	for _, what := range append(slices.Concat(whats, names(kinds), names(ways)), "standalone", "replicaset:3", "sharded:2", "loadbalanced:1",
		"a deadline", "a cancellation", "passing "+Reject, "passing "+Close, "passing "+Lose, "passing "+Error) {
		assert.True(t, seen[what], "no plan has %q", what)
	}
	assert.Greater(t, peaceful, 300, "plans in which nothing goes wrong")
	assert.Greater(t, strict, 150, "plans of calls that get over rejections")
	assert.Greater(t, passing, 500, "plans of calls that get over errors")
}

// TestChance is about numbers that do not depend on what has been drawn before.
func TestChance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		draw := func(before int) uint64 {
			c := &Chance{Seed: 1}
			for range before {
				c.Draw("b.go")
			}
			return c.Draw("a.go")
		}
		first := draw(0)
		assert.Equal(t, first, draw(3))
		c := &Chance{Seed: 1}
		assert.NotEqual(t, c.Draw("a.go"), c.Draw("a.go"))
		time.Sleep(time.Nanosecond)
		assert.NotEqual(t, first, draw(0))
		assert.NotEqual(t, (&Chance{Seed: 1}).Draw("a.go"), (&Chance{Seed: 2}).Draw("a.go"), "another seed")
	})
}
