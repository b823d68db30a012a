package main

import (
	"bytes"
	"os"
	"path/filepath"
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
		{[]string{"--older", "v1", "--newer", "v2", "-C", t.TempDir()}, command.ExitFailed, "", "overload.test: no such file"},
	} {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, tt.code, run(t.Context(), tt.args, &stdout, &stderr), "%v", tt.args)
		assert.Contains(t, stdout.String(), tt.stdout)
		assert.Contains(t, stderr.String(), tt.stderr)
	}
}

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
			figures := []string{"goodput", "commands", "errors", "success", "p50", "p99", "fairness", "recovery", "last error",
				"own", "others", "own share", "in progress", "connections", "worst", "streams", "cursors",
				"unconnected", "half connected", "last connected", "cleared", "heartbeats"}
			for _, c := range e.Classes {
				figures = append(figures, c.Name+": success", c.Name+": p99")
			}
			for _, figure := range figures {
				r[figure] = 50
			}
			all[key{e.Name, a}] = r
		}
	}
	return p, all
}

// TestEverythingThatIsShownIsMeasured finds names of scenarios, arms and figures that tables and the picture ask for, and nobody measures.
// Only goals need not be of all arms: not of those that do not retry, where nothing of them is wanted.
func TestEverythingThatIsShownIsMeasured(t *testing.T) {
	p, all := everything(t)
	for _, table := range p.Tables {
		for _, l := range table.Lines {
			arms := table.Arms
			if l.Arms != nil {
				arms = l.Arms
			}
			if l.Wanted != "" {
				arms = arms[1:]
			}
			for _, scenario := range l.In {
				for _, a := range arms {
					assert.Contains(t, all[key{scenario, a}], l.Of, "%s, %s: %s, %s", table.Marker, l.What, scenario, a)
				}
			}
		}
	}
	for _, l := range p.Plot {
		for _, scenario := range l.In {
			assert.Contains(t, all, key{scenario, l.Arm})
		}
	}
	root := t.TempDir()
	for _, page := range []string{"README.md", "docs/performance/overload.md", "docs/performance/goals.md", "docs/performance/goodput.svg"} {
		content, err := os.ReadFile(filepath.Join("..", "..", "..", page))
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, page)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, page), content, 0o600))
	}
	require.NoError(t, p.write(root, all))
	written, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	assert.Contains(t, string(written), "| fork | 50.0 | 50.00 | 50.00 | 50.0 | 50.0 |\n")
	assert.ErrorContains(t, replace(filepath.Join(root, "README.md"), "z", ""), `there is no "<!-- measured: z -->"`)
}

func TestGoals(t *testing.T) {
	p, _ := everything(t)
	goals := p.Tables[len(p.Tables)-1]
	goals.Lines = []row{{What: "errors, %", Wanted: "at most 1", Of: "errors", In: []string{"a", "b"}}}
	all := measured{
		{"a", "noRetry"}: {"errors": 10}, {"a", "throttled"}: {"errors": 0.94}, {"a", "newerThrottled"}: {"errors": 1},
		{"b", "throttled"}: {"errors": 6}, {"b", "newerThrottled"}: {"errors": 20},
	}
	assert.Equal(t, `| what | wanted | upstream v2.5.0 | fork of v2.5.0 | fork of v2.9.3 |
|---|---|---|---|---|
| errors, %: a; b | at most 1 | 10.0; - | 0.9; 6.0 | 1.0; 20.0 |
`, goals.text(p, all))
}

// TestPlot: nothing is at the bottom, the capacity at the top, and twice the capacity where the axis says so.
func TestPlot(t *testing.T) {
	p, all := everything(t)
	all[key{"2 ×, 10 %", "noRetry"}] = overload.Result{"goodput": 100}
	all[key{"10 ×, 10 %", "noRetry"}] = overload.Result{"goodput": 0}
	assert.Contains(t, p.plot(all),
		`<path d="M56.0 133.0 110.0 133.0 160.0 16.0 280.6 133.0 440.0 250.0" fill="none" stroke="#57606a"`)
}
