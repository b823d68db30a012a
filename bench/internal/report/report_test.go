package report

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/bench/internal/arrival"
	"mongofork/bench/internal/gobench"
	"mongofork/bench/internal/overhead"
	"mongofork/bench/internal/result"
	"mongofork/bench/internal/sim"
	"mongofork/bench/internal/size"
	"mongofork/bench/internal/study"
	"mongofork/bench/internal/throttle"
)

func TestWriteWithoutResults(t *testing.T) {
	docs := t.TempDir()
	require.NoError(t, Write(docs))
	text, err := os.ReadFile(filepath.Join(docs, "performance.md"))
	require.NoError(t, err)
	for _, target := range []string{"overhead", "bucket", "size"} {
		assert.Contains(t, string(text), "Not measured yet: `make bench-"+target+"`.")
	}
	assert.Contains(t, string(text), "Not simulated yet: `make bench-sim`.")
}

// overheadResults has ten rounds of one case, in which the fork takes a twentieth more time and one allocation less.
func overheadResults() *overhead.Results {
	c := overhead.Case{Workload: "FindOne", Goroutines: 8}
	cell := func(arm string, time, allocations float64) *overhead.Cell {
		samples := map[string][]float64{}
		for range 10 {
			samples[overhead.Time] = append(samples[overhead.Time], time)
			samples[overhead.ProcessorTime] = append(samples[overhead.ProcessorTime], time/2)
			samples[overhead.Bytes] = append(samples[overhead.Bytes], 100)
			samples[overhead.Allocations] = append(samples[overhead.Allocations], allocations)
		}
		return &overhead.Cell{Case: c, Arm: arm, Operations: 1, Samples: samples}
	}
	return &overhead.Results{
		Rounds: 10, Slices: 4, Arms: []string{"upstream", "fork"}, Cases: []overhead.Case{c},
		Cells: []*overhead.Cell{cell("upstream", 20_000, 30), cell("fork", 21_000, 29)},
	}
}

// writePage writes the page of one file of results, and returns its text.
func writePage[T any](t *testing.T, name string, results T) string {
	t.Helper()
	docs := t.TempDir()
	file := result.File[T]{Command: "make it", Setting: &result.Setting{Go: "go1.25"}, Results: results}
	require.NoError(t, file.Write(filepath.Join(docs, "performance", name)))
	require.NoError(t, Write(docs))
	text, err := os.ReadFile(filepath.Join(docs, "performance.md"))
	require.NoError(t, err)
	return string(text)
}

func TestWriteOverhead(t *testing.T) {
	text := writePage(t, OverheadFile("v9.9.9"), overheadResults())
	assert.Contains(t, text, "### The fork of v9.9.9")
	assert.Contains(t, text, "10 rounds of 4 slices")
	assert.Contains(t, text, "| FindOne | 8 | fork | 1.050 (1.050 to 1.050) | 1.050 (1.050 to 1.050) "+
		"| 20.0 → 21.0 | 30.0 → 29.0 | 100 → 100 |")
	assert.Contains(t, text, "| all |  | fork | 1.050 (1.050 to 1.050) |")
	assert.Contains(t, text, "| time, of upstream's | fork | at most 1.01 | 1.050 (1.050 to 1.050) | no, by 0.040 |")
	assert.Contains(t, text, "| allocations per operation | fork | not one more | -1.0 (FindOne/goroutines=8) | yes |")
	assert.NotContains(t, text, "make bench-overhead`.")
	assert.Contains(t, text, "Not measured on a real server yet.")
}

func TestWriteOverheadOnAServer(t *testing.T) {
	text := writePage(t, OverheadServerFile("v9.9.9"), &overhead.ServerResults{Server: "9.9 from somewhere", Results: overheadResults()})
	assert.Contains(t, text, "on the server 9.9 from somewhere")
	assert.Contains(t, text, "| all |  | fork | 1.050 (1.050 to 1.050) |")
	assert.NotContains(t, text, "Not measured on a real server")
	assert.Contains(t, text, "Not measured yet.\n")
}

func TestDoubt(t *testing.T) {
	assert.Empty(t, doubt(gobench.Summary{Low: 0.98, Median: 0.99, High: 1.01}))
	assert.Empty(t, doubt(gobench.Summary{Low: 1.02, Median: 1.03, High: 1.04}))
	assert.Equal(t, "; within the bounds", doubt(gobench.Summary{Low: 1, Median: 1.02, High: 1.04}))
}

func TestReadOverheads(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{
		OverheadFile("v2.10.0"), OverheadFile("v2.9.3"), OverheadServerFile("v2.9.3"), OverheadServerFile("v2.5.0"), BucketFile,
	} {
		require.NoError(t, result.File[any]{}.Write(filepath.Join(folder, name)))
	}
	all, err := readOverheads(folder)
	require.NoError(t, err)
	require.Len(t, all, 3)
	for i, base := range []string{"v2.5.0", "v2.9.3", "v2.10.0"} {
		assert.Equal(t, base, all[i].Base)
		assert.Equal(t, base != "v2.5.0", all[i].Canned != nil)
		assert.Equal(t, base != "v2.10.0", all[i].Server != nil)
	}
}

// checkPictures fails if a page links what is not there.
func checkPictures(t *testing.T, docs, page string) {
	t.Helper()
	for _, part := range strings.Split(page, "](")[1:] {
		target, _, _ := strings.Cut(part, ")")
		_, err := os.Stat(filepath.Join(docs, target))
		assert.NoError(t, err, "the page shows what is there")
	}
}

func TestMostAllocations(t *testing.T) {
	r := overheadResults()
	more := overhead.Case{Workload: "InsertOne", Goroutines: 1}
	r.Cases = append(r.Cases, more)
	for i, allocations := range []float64{5, 6} {
		samples := map[string][]float64{overhead.Time: r.Cells[0].Samples[overhead.Time]}
		samples[overhead.Allocations] = slices.Repeat([]float64{allocations}, 10)
		r.Cells = append(r.Cells, &overhead.Cell{Case: more, Arm: r.Arms[i], Samples: samples})
	}
	assert.Contains(t, overheadGoalTable(r).RenderMarkdown(),
		"| allocations per operation | fork | not one more | +1.0 (InsertOne/goroutines=1) | no, by 1.0 |")
}

func TestWriteBrokenResults(t *testing.T) {
	docs := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(docs, "performance"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(docs, "performance", SizeFile), []byte("["), 0o600))
	assert.ErrorContains(t, Write(docs), SizeFile)
	assert.NoFileExists(t, filepath.Join(docs, "performance.md"))
}

func TestBucketTable(t *testing.T) {
	row := func(limiter string, processors int, time float64) *throttle.Row {
		return &throttle.Row{Benchmark: "Deposit", Limiter: limiter, Processors: processors,
			Samples: map[string][]float64{"ns/op": {time, time, time, time, time, time}, "allocs/op": {0, 1}}}
	}
	var text strings.Builder
	require.NoError(t, PrintBucket(&text, []*throttle.Row{row("bucket", 1, 1.5), row("bucket", 16, 2.5), row("aws", 1, 20)}))
	assert.Contains(t, text.String(), "│ Deposit   │ bucket  │ 1.50 (1.50 to 1.50)    │ 2.50 (2.50 to 2.50) │           1 │")
	assert.Contains(t, text.String(), "│ Deposit   │ aws     │ 20.00 (20.00 to 20.00) │                     │")
}

func TestBucketGoals(t *testing.T) {
	row := func(benchmark, limiter string, time, allocations float64) *throttle.Row {
		return &throttle.Row{Benchmark: benchmark, Limiter: limiter, Processors: 1, Samples: map[string][]float64{
			"ns/op": {time}, "allocs/op": {allocations},
		}}
	}
	deposit := row("DepositWhenFull", throttle.Bucket, 2.75, 0)
	rows := []*throttle.Row{deposit, row("ConsumeAndDeposit", throttle.Bucket, 50, 0), row("DepositWhenFull", throttle.Inlined, 0.5, 0)}
	assert.Contains(t, bucketGoalTable(rows).RenderMarkdown(),
		"| DepositWhenFull | bucket | 1 | at most 2 | 2.75 | not measured | 0 | no, by 0.75 ns |", "older results have no loop")

	text := writePage(t, BucketFile, append(rows, row(throttle.EmptyLoop, throttle.NoLimiter, 1.5, 0)))
	assert.Contains(t, text, "| DepositWhenFull | bucket | 1 | at most 2 | 2.75 | 1.25 | 0 | yes, net |")
	assert.Contains(t, text, "| ConsumeAndDeposit | bucket | 1 | at most 40 | 50.00 | 48.50 | 0 | no, by 8.50 ns |")

	assert.Contains(t, text, "| DepositWhenFull | inlined | 1 | at most 2 | 0.50 | -1.00 | 0 | yes |")

	deposit.Samples["allocs/op"][0] = 1
	assert.Contains(t, bucketGoalTable(rows).RenderMarkdown(), "| no, it allocates |")
}

func TestSizeTable(t *testing.T) {
	programs := []*size.Program{
		{Driver: "upstream", Bytes: 10, Modules: []string{"a v1"}, BuildSeconds: []float64{3, 1, 2}},
		{Driver: "fork", Bytes: 11, Modules: []string{"a v1", "b v2"}},
	}
	var text strings.Builder
	require.NoError(t, PrintSize(&text, programs))
	assert.Contains(t, text.String(), "2.0 (1.0 to 3.0)")
	assert.Contains(t, text.String(), "not measured")
	assert.Equal(t, "b v2", addedModules(programs))
	assert.Equal(t, "none", addedModules(programs[:1]))
}

func TestRecovery(t *testing.T) {
	r := sim.Result{
		Scenario: sim.Scenario{
			Interval: 500 * time.Millisecond, Duration: 4 * time.Second,
			Load: arrival.Load{Base: 0.8, Start: 500 * time.Millisecond, Burst: 500 * time.Millisecond},
		},
		Series: []float64{0.8, 0.1, 0.9, 0.1, 0.75, 0.8, 0.8, 0.8},
	}
	assert.Equal(t, "1s", recovery(r), "one good interval is not enough")
	r.Series[5] = 0
	r.Series[7] = 0
	assert.Equal(t, "not in 3s", recovery(r))
}

func TestSoonestSpent(t *testing.T) {
	s := sim.Scenario{Clients: 100, Servers: 2, Capacity: 1000, Load: arrival.Load{Base: 2}}
	assert.Equal(t, 5*time.Second, soonestSpent(s), "100,000 tokens, five for each of 4000 operations a second")
}

func TestSpread(t *testing.T) {
	runs := []sim.Result{{Goodput: 4}, {Goodput: 1}, {Goodput: 2}, {Goodput: 3}}
	assert.Equal(t, "2.5 (1.0 to 4.0)", spread(runs, func(r sim.Result) float64 { return r.Goodput }, "%.1f"))
}

// TestSimulations writes the page and the plots of a study in small.
func TestSimulations(t *testing.T) {
	s, err := study.Run(context.Background(), study.Brief, nil)
	require.NoError(t, err)
	docs := t.TempDir()
	folder := filepath.Join(docs, "performance")
	file := result.File[*study.Study]{Command: "make bench-sim", Results: s}
	require.NoError(t, file.Write(filepath.Join(folder, SimulationFile)))
	throttling, err := study.RunThrottling(context.Background(), study.Brief, nil)
	require.NoError(t, err)
	throttlingFile := result.File[*study.Throttling]{Command: "make bench-sim", Results: throttling}
	require.NoError(t, throttlingFile.Write(filepath.Join(folder, ThrottlingFile)))
	require.NoError(t, Write(docs))

	text, err := os.ReadFile(filepath.Join(docs, "performance.md"))
	require.NoError(t, err)
	checkPictures(t, docs, string(text))
	for _, policy := range sim.Policies() {
		if policy != sim.Throttling {
			assert.Contains(t, string(text), "| "+string(policy)+" |")
		}
	}
	assert.Contains(t, string(text), "| "+study.Default+" |")
}

// TestThrottlingGoals has a trial that meets its goals and one that misses them.
func TestThrottlingGoals(t *testing.T) {
	trial := func(name string, arm sim.Policy, goodput, errors float64) study.Trial {
		return study.Trial{Case: name, Arm: string(arm), Goodput: goodput, Errors: errors}
	}
	table := throttlingGoalTable(&study.Throttling{Goals: []study.Trial{
		trial(study.Sustained(2, 0.1), sim.Throttling, 0.96, 0.5), trial(study.Sustained(2, 0.1), sim.NoRetry, 0.88, 0.5),
		trial(study.Sustained(4, 0.1), sim.Throttling, 0.88, 0.5),
		trial(study.Bursts(10), sim.Throttling, 0, 0.01), trial(study.Bursts(10), sim.NoRetry, 0, 0.2),
		trial(study.Bursts(100), sim.Throttling, 0, 0.04), trial(study.Bursts(100), sim.NoRetry, 0, 0.2),
	}}).RenderMarkdown()
	assert.Contains(t, table, "| 2 × the capacity, rejection cost 10 %: goodput, % of the capacity | at least 95.0 | 96.0 | 88.0 | 0.0 | 0.0 | yes |")
	assert.Contains(t, table, "| at least 90.0 | 88.0 | 0.0 | 0.0 | 0.0 | no, by 2.0 |")
	assert.Contains(t, table, "| short bursts, 10 clients: errors, % | at most 0.15 of no retry, 3.0 | 1.0 | 20.0 | 0.0 | 0.0 | yes |")
	assert.Contains(t, table, "| short bursts, 100 clients: errors, % | at most 0.15 of no retry, 3.0 | 4.0 | 20.0 | 0.0 | 0.0 | no, by 1.0 |")
}

func TestGoalTable(t *testing.T) {
	run := func(policy sim.Policy, cost, goodput float64, seed uint64) sim.Result {
		return sim.Result{
			Scenario: sim.Scenario{Policy: policy, RejectionCost: cost, Load: arrival.Load{Base: 2}, Seed: seed}, Goodput: goodput,
		}
	}
	table := goalTable(&study.Study{Goals: []sim.Result{
		run(sim.NoRetry, 0.1, 0.8, 1), run(sim.DrainedBucket, 0.1, 0.72, 1),
		run(sim.NoRetry, 0.1, 0.5, 2), run(sim.DrainedBucket, 0.1, 0.4, 2),
		run(sim.NoRetry, 0.5, 0.5, 1), run(sim.DrainedBucket, 0.5, 0.45, 1),
		run(sim.NoRetry, 0.6, 0, 1), run(sim.DrainedBucket, 0.6, 0.001, 1),
	}}).RenderMarkdown()
	assert.Contains(t, table, "| - | - | the overload alone takes all of the capacity |")
	assert.Contains(t, table, "| 0.850 (0.800 to 0.900) | 0.95 | no, by 0.100 |")
	assert.Contains(t, table, "| 0.900 (0.900 to 0.900) | 0.85 | yes |")
}
