package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/bench/internal/goodput"
	"mongofork/bench/internal/openloop"
	"mongofork/bench/internal/result"
)

// fakeRun is a run of which so many of 100 operations succeeded. What it measured is the capacity of a second.
func fakeRun(s goodput.Scenario, arm string, succeeded, commands int) goodput.Run {
	s.Plan.Duration = time.Second
	series := []openloop.Interval{{Due: 10, Good: 9}}
	for range 40 {
		series = append(series, openloop.Interval{Due: 10, Good: 10})
	}
	return goodput.Run{Scenario: s, Arm: arm, Idle: 0.5, Used: 0.25, Report: &openloop.Report{
		Arrived: 100, Succeeded: succeeded, Failed: 100 - succeeded, Commands: commands, Good: succeeded, Served: 10_000, Series: series,
	}}
}

// fakeResults has all scenarios with all their arms; no retry is perfect, and all others are a fifth worse.
func fakeResults() *goodput.Results {
	r := &goodput.Results{
		Capacity: goodput.Capacity, Queue: goodput.Queue, Patience: time.Second, Storm: goodput.Storm{Clients: 500},
		Storms: []goodput.StormRun{{Arm: goodput.Adaptive, Report: &openloop.StormReport{Connected: 497}}},
	}
	r.Runs = fakeRuns(goodput.Scenarios())
	return r
}

// fakeRuns has runs of scenarios with all their arms.
func fakeRuns(scenarios []goodput.Scenario) []goodput.Run {
	var all []goodput.Run
	for _, s := range scenarios {
		for _, arm := range s.Arms {
			if arm == goodput.NoRetry {
				all = append(all, fakeRun(s, arm, 50, 100))
			} else {
				all = append(all, fakeRun(s, arm, 40, 112))
			}
		}
	}
	return all
}

func TestWriteGoodput(t *testing.T) {
	root := t.TempDir()
	docs := filepath.Join(root, "docs")
	file := result.File[*goodput.Results]{Command: "make bench-goodput", Setting: &result.Setting{}, Results: fakeResults()}
	require.NoError(t, file.Write(filepath.Join(docs, "performance", GoodputFile)))
	require.NoError(t, os.WriteFile(filepath.Join(root, "README.md"),
		append(bytes.Clone(summaryBegin), summaryEnd...), 0o600))
	require.NoError(t, Write(docs))
	content, err := os.ReadFile(filepath.Join(docs, "performance.md"))
	require.NoError(t, err)
	text := string(content)

	checkPictures(t, docs, text)
	assert.NotContains(t, text, "make bench-goodput`.")
	assert.Contains(t, text, "25 % of the processors' time")
	assert.Contains(t, text, "started in time")
	for _, row := range []string{
		"| commands per operation at 2 × the capacity, tokens spent; median of 3 seeds | at most 1.15 | 1.120 (1.120 to 1.120) | yes |",
		"| commands per operation at 4 × the capacity, tokens spent; median of 3 seeds | at most 1.05 | 1.120 (1.120 to 1.120) | no, by 0.070 |",
		"rejection cost 10 %, of that without retries; median of 3 seeds | at least 0.95 | 0.800 (0.800 to 0.800) | no, by 0.150 |",
		"rejection cost 50 %, of that without retries; median of 3 seeds | at least 0.85 | 0.800 (0.800 to 0.800) | no, by 0.050 |",
		"| errors in short bursts, of those without retries; 10 clients; median of 10 seeds | at most 0.25 | 1.200 (1.200 to 1.200) | no, by 0.950 |",
		"| errors in a long spike, of those without retries; 1 client; median of 3 seeds | at most 1.15 | 1.200 (1.200 to 1.200) | no, by 0.050 |",
		"| recovery after a long spike, compared with no retry; 10 clients; median of 3 seeds | at most 0.5 s later | 0.0 s (0.0 s to 0.0 s) | yes |",
		"| 2 % | 10 | 40 | 3 | fork | 100.0 (100.0 to 100.0) |",
		"| 2 % | 10 | 40 | 3 | fork, adaptiveThrottling | 100.0 (100.0 to 100.0) |",
		"Not measured yet: `make bench-languages`.",
		"the servers are slower",
		"| one of 3 members gets 1.25 × what it admits: share of reads that succeed; median of 3 seeds | at least 0.99 | 0.400 (0.400 to 0.400) | no, by 0.590 |",
		"| connection storm: clients that connect | 500 | 497 | no, by 3 |",
		"| connection storm: pools cleared | 0 | 0 | yes |",
		"| connection storm: pools with connections cleared | 0 | not measured | not measured |",
		"- At 2.00 × what the member admits, 50.0 % of the operations fail without retries.",
	} {
		assert.Contains(t, text, row)
	}
	assert.Equal(t, 1, strings.Count(text, whySpent))
	assert.NotContains(t, text, "In the connection storm pools", "no pool was cleared")
	assert.NotContains(t, text, "Not measured:")
}

func TestMissing(t *testing.T) {
	r := fakeResults()
	r.Runs = ofKind(r, goodput.Spike, goodput.Fork)
	assert.Equal(t, "ten times the capacity", conditionOf(r).Missing())
}

func TestSeedsAreGrouped(t *testing.T) {
	r := fakeResults()
	r.Runs = ofKind(r, goodput.Spike, goodput.Fork)
	for i, succeeded := range []int{40, 10, 20} {
		r.Runs[i].Report.Succeeded = succeeded
	}
	r.Runs[1].Report.Series = nil
	r.Runs[0].Plan.Duration = 16 * time.Second // of which eight follow the spike
	for _, cell := range []string{"| 3 | fork |", "| 80.0 (60.0 to 90.0) |", "| 0.0 (0.0 to 0.0); 1 of 3 not in 8 |"} {
		assert.Contains(t, kindTable(r, goodput.Spike).RenderMarkdown(), cell)
	}
}

func TestRecoveryGoal(t *testing.T) {
	r := fakeResults()
	for _, run := range ofKind(r, goodput.Spike, goodput.Adaptive)[1:] {
		run.Report.Series = nil
	}
	table := measuredGoalTable(r).RenderMarkdown()
	assert.Contains(t, table, "| at most 0.5 s later | never (0.0 s to never) | no |")
}

func TestVerdict(t *testing.T) {
	r := fakeResults()
	r.Runs[1].Report.Lag.P99 = 101 * time.Millisecond
	r.Runs[5].Report.Served = 1
	ofKind(r, goodput.Sustained, goodput.Throttling)[0].Report.Served = 1 // the clients hold back
	text := verdict(r)
	assert.Contains(t, text, "In 2 of ")
	assert.Contains(t, text, "(control 1, sustained 1)")
}

func TestRunRecovery(t *testing.T) {
	spike := goodput.Run{Scenario: goodput.Scenario{}, Report: &openloop.Report{}}
	spike.Plan.Interval, spike.Plan.Load.Start = time.Second/2, time.Second/2
	for _, good := range []int{9, 8, 9, 7, 10, 9} {
		spike.Report.Series = append(spike.Report.Series, openloop.Interval{Due: 10, Good: good})
	}
	after, ok := runRecovery(spike)
	assert.True(t, ok)
	assert.Equal(t, 1500*time.Millisecond, after)
	spike.Report.Series = spike.Report.Series[:5]
	_, ok = runRecovery(spike)
	assert.False(t, ok, "half a second is not enough")
}

func TestPrintGoodput(t *testing.T) {
	var text strings.Builder
	require.NoError(t, PrintGoodput(&text, fakeResults()))
	assert.Contains(t, text.String(), "497 of 500")
	assert.Contains(t, text.String(), goodput.Drained)
}
