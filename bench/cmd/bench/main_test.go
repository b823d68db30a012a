package main

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/bench/overload"
	"mongofork/tools/command"
)

func TestCommandLine(t *testing.T) {
	for _, tt := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{"--help"}, command.ExitOK, "Exit codes: 0 done, 1 a benchmark failed", ""},
		{[]string{"--x"}, command.ExitUsage, "", "--x"},
		{[]string{"overload", "--older", "v1", "--newer", "v2", "-C", "../../..", "--only", "("}, command.ExitFailed, "",
			"missing closing )"},
		{[]string{"overload", "--older", "v1", "--newer", "v2", "-C", "../../..", "--only", "no such"}, command.ExitFailed, "",
			`nothing matches "no such"`},
	} {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, tt.code, run(context.Background(), tt.args, &stdout, &stderr), "%v", tt.args)
		assert.Contains(t, stdout.String(), tt.stdout)
		assert.Contains(t, stderr.String(), tt.stderr)
	}
}

var testArms = newArms("v2.5.0", "v2.9.3")

// everything is a result of each scenario with each of its arms.
func everything() measured {
	all := measured{}
	for _, e := range testArms.scenarios() {
		for _, a := range e.arms {
			all[key{e.Name, a.name}] = result{
				Goodput: 50, Commands: 1, Errors: 10, P50: 1, P99: 1, Fairness: 1, Own: 1, Others: 1,
				Classes: []overload.ClassResult{{Name: served}, {Name: critical}, {Name: normal}},
			}
		}
	}
	return all
}

func TestScenariosHaveNamesOfTheirOwn(t *testing.T) {
	names := map[string]bool{}
	for _, e := range testArms.scenarios() {
		assert.False(t, names[e.Name], e.Name)
		names[e.Name] = true
		arms := map[string]bool{}
		for _, a := range e.arms {
			assert.False(t, arms[a.name], "%s: %s", e.Name, a.name)
			arms[a.name] = true
		}
	}
}

// TestEverythingThatIsShownIsMeasured finds names of scenarios and arms that tables ask for, and nobody runs.
func TestEverythingThatIsShownIsMeasured(t *testing.T) {
	all := everything()
	for _, g := range slices.Concat(testArms.tokenGoals(), testArms.throttlingGoals(), testArms.classGoals()) {
		for _, scenario := range g.scenarios {
			for _, a := range g.forks {
				assert.False(t, math.IsNaN(all.get(scenario, a, g.of)), "%s: %s, %s", g.what, scenario, a.name)
			}
		}
	}
	for _, table := range testArms.tables(all) {
		if table.page == "docs/performance.md" {
			assert.NotContains(t, table.text, "| - ", table.marker)
		}
		content, err := os.ReadFile(filepath.Join("..", "..", "..", table.page))
		require.NoError(t, err)
		assert.Contains(t, string(content), "<!-- measured: "+table.marker+" -->\n", table.page)
	}
}

func TestGoalTable(t *testing.T) {
	g := goal{"errors, %", "at most 1", "%.1f", failures, [2]arm{testArms.throttled, testArms.newerThrottled}, []string{"a", "b"}}
	all := measured{
		{"a", testArms.noRetry.name}: {Errors: 10}, {"a", testArms.throttled.name}: {Errors: 0.94},
		{"a", testArms.newerThrottled.name}: {Errors: 1},
		{"b", testArms.throttled.name}:      {Errors: 6}, {"b", testArms.newerThrottled.name}: {Errors: 20},
	}
	assert.Equal(t, `| what | wanted | upstream v2.5.0 | fork of v2.5.0 | fork of v2.9.3 |
|---|---|---|---|---|
| errors, %: a; b | at most 1 | 10.0; - | 0.9; 6.0 | 1.0; 20.0 |
`, testArms.goalTable([]goal{g}, all))
}
