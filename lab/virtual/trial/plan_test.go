package trial

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	seen, overloads := map[string]bool{}, 0
	for seed := range uint64(2000) {
		p := New(seed)
		seen[p.Topology] = true
		for _, c := range p.Calls {
			seen[c.Kind] = true
			seen["a deadline"] = seen["a deadline"] || c.Deadline > 0
			seen["a cancellation"] = seen["a cancellation"] || c.Cancel > 0
		}
		for _, f := range p.Faults {
			seen[f.What] = true
		}
		if p.Varies() {
			overloads++
		}
	}
	for _, what := range append(kindNames(), "standalone", "replicaset:3", "sharded:2", "loadbalanced:1", "a deadline",
		"a cancellation",
		Error, Concern, Reject, Close, Lose, Drop, Slow, Silent, Refusing, Closing, Away, Reset, Stop, StepDown) {
		assert.True(t, seen[what], "no plan has %s", what)
	}
	assert.InDelta(t, 1000, overloads, 400, "plans with overload errors")
}

// TestScenarios is about the words of the table, and about what rules rely on.
func TestScenarios(t *testing.T) {
	t.Parallel()
	commands := []string{"hello", "isMaster", "saslStart", "saslContinue", "killCursors", "endSessions", "getMore", ""}
	for _, k := range kinds {
		commands = append(commands, strings.Fields(k.commands)...)
	}
	for i, c := range scenarios {
		for seed := range uint64(30) {
			p := New(seed)
			p.Options, p.Calls[0].Deadline = []string{"timeoutMS=1"}, time.Second
			source{rand.New(rand.NewPCG(seed, 1))}.stage(&p, c)
			assert.Regexp(t, `^(standalone|(replicaset|sharded|loadbalanced):[1-3])$`, p.Topology, "row %d", i)
			for _, call := range p.Calls {
				assert.Contains(t, kinds, call.Kind, "row %d", i)
				assert.True(t, c.only == "" || call.Deadline+call.Cancel == 0, "row %d", i)
			}
			for _, f := range p.Faults {
				_, isLink := links[f.What]
				assert.True(t, f.onCommands() || isLink || f.is(Reset, Stop, StepDown), "row %d: %s", i, f.What)
				assert.Contains(t, commands, f.On, "row %d", i)
				assert.Equal(t, f.is(Error, Concern, Reject), f.Code > 0, "row %d: %+v", i, f)
				assert.Equal(t, f.onCommands(), f.Times > 0, "row %d: %+v", i, f)
				assert.Equal(t, !f.onCommands() || f.What == Slow, f.For > 0, "row %d: %+v", i, f)
			}
			if c.only != "" {
				assert.NotEmpty(t, c.calls, "row %d", i)
				assert.False(t, p.Has("timeoutMS") || len(p.Workers()) > 1, "row %d: %+v", i, p)
				assert.LessOrEqual(t, len(p.Faults), len(c.faults), "row %d: %+v", i, p)
			}
			assert.Equal(t, c.only, p.Only)
		}
	}
}

func TestDifferencesAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "differences.md"))
	require.NoError(t, err)
	var subjects []string
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(line, " | "); strings.HasPrefix(line, "| ") {
			subjects = append(subjects, strings.TrimPrefix(cells[0], "| "))
		}
	}
	for _, d := range Differences {
		found := 0
		for _, subject := range subjects {
			if strings.Contains(subject, d.Row) {
				found++
			}
		}
		assert.Positive(t, found, "docs/differences.md has no row about %s", d.Row)
	}
}

// TestJudged is about whether plans vary, and else whether the drivers are free.
func TestJudged(t *testing.T) {
	limited := []Call{{Kind: "withTransaction", Deadline: 1}}
	for name, tt := range map[string]struct {
		plan         Plan
		varies, free bool
	}{
		"nothing":                {Plan{}, false, false},
		"an error":               {Plan{Faults: []Fault{{What: Error, On: "find"}}}, false, false},
		"a reset":                {Plan{Faults: []Fault{{What: Reset}}}, true, false},
		"an interruption":        {Plan{Faults: []Fault{{What: Reject, On: "find", Code: interrupted}}}, false, false},
		"one of a hello":         {Plan{Faults: []Fault{{What: Reject, On: "hello", Code: interrupted}}}, true, false},
		"a rejection":            {Plan{Faults: []Fault{{What: Reject, On: "find", Code: 462}}}, true, false},
		"two routers":            {Plan{Topology: "sharded:2"}, false, true},
		"limited time":           {Plan{Calls: limited}, false, true},
		"limited time for reads": {Plan{Calls: []Call{{Kind: "find", Deadline: 1}}}, false, false},
		"throttling":             {Plan{Options: []string{"adaptiveThrottling=true"}}, false, false},
		"that meets errors": {Plan{Options: []string{"adaptiveThrottling=true"}, Faults: []Fault{{What: Error, On: "find"}}},
			false, false},
	} {
		if varies, free := tt.plan.Varies(), tt.plan.Free(); varies != tt.varies || free != tt.free {
			t.Errorf("%s: varies %v, free %v", name, varies, free)
		}
	}
}
