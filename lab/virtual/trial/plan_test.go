package trial

import (
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
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
	seen, peaceful, passing, strict := map[string]bool{}, 0, 0, 0
	for seed := range uint64(2000) {
		p := New(seed)
		seen[p.Topology] = true
		for _, c := range p.Calls {
			seen[c.Kind], seen[c.Way] = true, true
			seen["a deadline"] = seen["a deadline"] || c.Deadline > 0
			seen["a cancellation"] = seen["a cancellation"] || c.Cancel > 0
			if p.Peaceful() {
				assert.Zero(t, c.Deadline+c.Cancel)
			}
		}
		for _, f := range p.Faults {
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
	for _, what := range append(append(names(kinds), names(ways)...), "standalone", "replicaset:3", "sharded:2", "loadbalanced:1", "a deadline",
		"a cancellation", Error, Concern, Reject, Close, Lose, Drop, Slow, Silent, Refusing, Closing, Reset, Stop, StepDown, Lack,
		"passing "+Reject, "passing "+Close, "passing "+Lose, "passing "+Error) {
		assert.True(t, seen[what], "no plan has %q", what)
	}
	assert.Greater(t, peaceful, 300, "plans in which nothing goes wrong")
	assert.Greater(t, strict, 150, "plans of calls that get over rejections")
	assert.Greater(t, passing, 500, "plans of calls that get over errors")
}

// TestScenarios is about the words of the table.
func TestScenarios(t *testing.T) {
	t.Parallel()
	commands := []string{"hello", "isMaster", "saslStart", "saslContinue", "killCursors", "endSessions", "getMore", ""}
	for _, k := range kinds {
		commands = append(commands, strings.Fields(k.commands)...)
	}
	for _, w := range ways {
		commands = append(commands, w.command)
	}
	for i, c := range scenarios {
		for seed := range uint64(30) {
			p := New(seed)
			source{rand.New(rand.NewPCG(seed, 1))}.stage(&p, c)
			assert.Regexp(t, `^(standalone|(replicaset|sharded|loadbalanced):[1-3])$`, p.Topology, "row %d", i)
			for _, call := range p.Calls {
				assert.Contains(t, kinds, call.Kind, "row %d", i)
				assert.Contains(t, ways, call.Way, "row %d", i)
			}
			for _, f := range p.Faults {
				_, isLink := links[f.What]
				assert.True(t, f.onCommands() || isLink || f.is(Reset, Stop, StepDown), "row %d: %s", i, f.What)
				assert.Contains(t, commands, f.On, "row %d", i)
				assert.Equal(t, f.is(Error, Concern, Reject), f.Code > 0, "row %d: %+v", i, f)
				assert.Equal(t, f.onCommands(), f.Times > 0, "row %d: %+v", i, f)
				assert.Equal(t, !f.onCommands() || f.What == Slow, f.For > 0, "row %d: %+v", i, f)
			}
		}
	}
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

// TestWithout is about a plan whose passing faults are left out.
func TestWithout(t *testing.T) {
	t.Parallel()
	p := Plan{Faults: []Fault{{What: Lack}, {What: Reject, Passing: true}}}
	assert.Equal(t, []Fault{{What: Lack}}, p.Without().Faults)
	assert.Len(t, p.Faults, 2)
	assert.True(t, p.Passes())
	assert.False(t, p.Without().Passes())
}
