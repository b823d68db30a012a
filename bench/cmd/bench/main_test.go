package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
		{[]string{"cost", "--rounds", "0"}, command.ExitUsage, "", "at least one round"},
		{[]string{"overload", "-C", "../../..", "--only", "("}, command.ExitFailed, "", "missing closing )"},
		{[]string{"overload", "-C", "../../..", "--only", "no such"}, command.ExitFailed, "", `no scenario with drivers is called like "no such"`},
		{[]string{"overload", "-C", "../../..", "--from", "no-such-file"}, command.ExitFailed, "", "no-such-file"},
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
				Goodput: 50, Commands: 1, Received: 100, Errors: 10, P50: 1, P99: 1, Fairness: 1, Own: 1, Others: 1, Series: []float64{1, 2},
				Classes: []overload.ClassResult{{Name: served}, {Name: critical}, {Name: normal}}, Storm: overload.StormResult{Connected: []float64{1, 2}},
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

// TestEverythingThatIsShownIsMeasured finds names of scenarios and arms that tables, goals and plots ask for, and nobody runs.
func TestEverythingThatIsShownIsMeasured(t *testing.T) {
	all := everything()
	for _, g := range slices.Concat(tokenGoals(), throttlingGoals(), classGoals()) {
		for _, v := range testArms.views(all) {
			for _, c := range g.cases {
				assert.False(t, math.IsNaN(c.of(v)), "%s, %s, fork of %s", g.what, c.name, v.own.fork.base)
			}
		}
	}
	for _, table := range testArms.tables(all) {
		if strings.HasPrefix(table.page, "docs/performance") {
			assert.NotContains(t, table.text, "| - ", table.marker)
		}
		content, err := os.ReadFile(filepath.Join("..", "..", "..", table.page))
		require.NoError(t, err)
		assert.Contains(t, string(content), "<!-- measured: "+table.marker+" -->\n", table.page)
	}
	for _, c := range testArms.plots(all) {
		svg, err := c.svg()
		require.NoError(t, err)
		decoder := xml.NewDecoder(bytes.NewReader(svg))
		for err == nil {
			_, err = decoder.Token()
		}
		assert.ErrorIs(t, err, io.EOF, c.name)
		for _, l := range c.lines {
			assert.Contains(t, string(svg), ">"+l.arm.name+"</text>", c.name)
		}
	}
}

func TestGoal(t *testing.T) {
	g := goal{"errors, of those without retries", false, "%.2f", []goalCase{
		ratio("a", 1, "a", failures, withThrottled), ratio("b", 0.5, "b", failures, withThrottled), ratio("c", 1, "c", failures, withThrottled),
	}}
	all := measured{
		{"a", testArms.noRetry.name}: {Errors: 10}, {"a", testArms.throttled.name}: {Errors: 10.04}, {"a", testArms.newerThrottled.name}: {Errors: 11},
		{"b", testArms.noRetry.name}: {Errors: 10}, {"b", testArms.throttled.name}: {Errors: 6}, {"b", testArms.newerThrottled.name}: {Errors: 20},
		{"c", testArms.noRetry.name}: {}, {"c", testArms.throttled.name}: {},
	}
	assert.Equal(t, `| what | wanted | fork of v2.5.0 | fork of v2.9.3 | met |
|---|---|---|---|---|
| errors, of those without retries: a; b; c | at most 1.00; 0.50; 1.00 | 1.00; 0.60; 1.00 | 1.10; 2.00; - | **no**: a v2.9.3; b |
`, testArms.goalTable([]goal{g}, all))
	g = goal{"goodput", true, "%.1f", []goalCase{value("", 95, "a", goodput, withThrottled)}}
	all = measured{{"a", testArms.throttled.name}: {Goodput: 94.96}, {"a", testArms.newerThrottled.name}: {Goodput: 96}}
	assert.Contains(t, testArms.goalTable([]goal{g}, all), "| goodput | at least 95.0 | 95.0 | 96.0 | yes |")
	all[key{"a", testArms.throttled.name}] = result{Goodput: 94.94}
	assert.Contains(t, testArms.goalTable([]goal{g}, all), "| 94.9 | 96.0 | **no**: v2.5.0 |")
}

func TestFormatted(t *testing.T) {
	got := []string{formatted("%.1f", math.NaN()), formatted("%.1f", math.Inf(1)), formatted("%.1f", -0.04), formatted("%.2f", 1.005)}
	assert.Equal(t, "- ∞ 0.0 1.00", strings.Join(got, " "))
}
