package trial

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
