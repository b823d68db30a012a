package main

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/bench/overload"
)

// everything is a result of each scenario with each of its arms.
func everything(t *testing.T) (plan, measured) {
	t.Helper()
	p, err := newPlan("v2.5.0", "v2.9.3")
	require.NoError(t, err)
	all := measured{}
	for _, e := range p.Scenarios {
		for _, a := range e.Arms {
			require.Contains(t, p.Arms, a, e.Name)
			require.NotContains(t, all, key{e.Name, a}, "twice")
			r := overload.Result{}
			for _, figure := range []string{"goodput", "commands", "errors", "success", "p50", "p99", "fairness", "recovery", "last error",
				"own", "others", "own share", "in progress", "worst", "committed", "dials",
				"served: success", "critical: success", "critical: p99"} {
				r[figure] = 50
			}
			all[key{e.Name, a}] = r
		}
	}
	return p, all
}

// TestEverythingThatIsShownIsMeasured finds names of scenarios, arms and figures that tables ask for, and nobody measures, and pages that
// have no place for a table. Only goals need not be of all arms: not of those that do not retry, where nothing of them is wanted.
func TestEverythingThatIsShownIsMeasured(t *testing.T) {
	p, all := everything(t)
	root := t.TempDir()
	for _, table := range p.Tables {
		for _, l := range table.Lines {
			arms := l.arms(table)
			if l.Wanted != "" {
				arms = arms[1:]
			}
			for _, scenario := range l.In {
				for _, a := range arms {
					assert.Contains(t, all[key{scenario, a}], l.Of, "%s, %s: %s, %s", table.Marker, l.What, scenario, a)
				}
			}
		}
		content, err := os.ReadFile(filepath.Join("..", "..", "..", table.Page))
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, table.Page)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, table.Page), content, 0o600))
	}
	require.NoError(t, p.write(root, all))
	require.NoError(t, p.draw(root, all))
	drawn, err := os.ReadFile(filepath.Join(root, "docs", "goodput.svg"))
	require.NoError(t, err)
	assert.Contains(t, string(drawn), `<path d="M56.0 165.0L`, "50 of 100")
	assert.NoError(t, xml.Unmarshal(drawn, new(struct{})))
	written, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	assert.Contains(t, string(written), "| 5 % | 50.0 | 50.0 | 50.0 | 50.0 | 50.0 |\n")
	delete(all, key{"6 ×", "spent"})
	assert.ErrorContains(t, p.draw(root, all), "nobody measures spent at 6 ×")
	p.Tables[0].Marker = "z"
	assert.ErrorContains(t, p.write(root, all), `there is no "<!-- measured: z -->"`)
}

func TestGoals(t *testing.T) {
	p, _ := everything(t)
	goals := p.Tables[len(p.Tables)-1]
	goals.Lines = []row{{What: "errors, %", Wanted: "at most 1", Of: "errors", In: []string{"a", "b"}}}
	all := measured{{"a", "noRetry"}: {"errors": 10}, {"a", "throttled"}: {"errors": 0.94}, {"a", "newerThrottled"}: {"errors": 1},
		{"b", "throttled"}: {"errors": 6}, {"b", "newerThrottled"}: {"errors": 20}}
	assert.Equal(t, `| what | wanted | upstream v2.5.0 | fork of v2.5.0 | fork of v2.9.3 |
|---|---|---|---|---|
| errors, %: a; b | at most 1 | 10.0; - | 0.9; 6.0 | 1.0; 20.0 |
`, goals.text(p, all))
}
