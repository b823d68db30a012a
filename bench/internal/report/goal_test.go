package report

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/bench/internal/arrival"
	"mongofork/bench/internal/goodput"
	"mongofork/bench/internal/openloop"
	"mongofork/bench/internal/overhead"
	"mongofork/bench/internal/result"
	"mongofork/bench/internal/sim"
	"mongofork/bench/internal/study"
	"mongofork/bench/internal/throttle"
)

func TestGoalTable(t *testing.T) {
	const none = -1
	found := func(name string, simulated, measured float64, doubt string) figure {
		f := figure{name: name, bound: 2, simulated: simulated, doubt: doubt}
		if simulated == none {
			f.simulated = notSimulated()
		}
		if measured != none {
			f.measured = &measure{measured, measured, measured}
		}
		return f
	}
	for want, g := range map[string]goal{
		"| x | at most 2.0 | 3.0 | 1.0 | yes |":                              {"x", false, "%.1f", []figure{found("", 3, 1, "")}},
		"| x | at most 2.0 | 1.0 | 3.0 | no, by 1.0 |":                       {"x", false, "%.1f", []figure{found("", 1, 3, "")}},
		"| x | at least 2.0 | 1.0 | 3.0 | yes |":                             {"x", true, "%.1f", []figure{found("", 1, 3, "")}},
		"| x | at least 2.0 | - | 1.5 | no, by 0.5 |":                        {"x", true, "%.1f", []figure{found("", none, 1.5, "")}},
		"| x | at most 2.0 | - | ∞ | no |":                                   {"x", false, "%.1f", []figure{found("", none, math.Inf(1), "")}},
		"| x | at most 2.0 | - | - | not measured |":                         {"x", false, "%.1f", []figure{found("", none, none, "")}},
		"| x | at most 2.0 | - | 3.0 | not decided: d |":                     {"x", false, "%.1f", []figure{found("", none, 3, "d")}},
		"| x | at most 2.0 | - | - | not decided: nothing to compare with |": {"x", false, "%.1f", []figure{found("", none, math.NaN(), "")}},
		"| x | at most 2.0 | 1.0 | 3.0 | not decided: d (simulated: yes) |":  {"x", false, "%.1f", []figure{found("", 1, 3, "d")}},
		"| x: a; b; c | at most 2.0 | 1.0; 1.0; 4.0 | 1.0; -; 1.0 | a, c: yes; b: not measured (simulated: yes) |": {
			"x", false, "%.1f", []figure{found("a", 1, 1, ""), found("b", 1, none, ""), found("c", 4, 1, "")}},
	} {
		assert.Equal(t, want, lines(goalTable([]goal{g}, true))[2])
	}
	several := goal{"x", true, "%.0f", []figure{{name: "a", bound: 1, simulated: 1}, {name: "b", bound: 11, simulated: 1}}}
	assert.Equal(t, "| x: a; b | at least 1; 11 | - | not measured (simulated: a: yes; b: no, by 10) |", lines(goalTable([]goal{several}, false))[2])
}

func TestHighLoad(t *testing.T) {
	for load, want := range map[string]string{"0.50": "", "2.00": "", "2.01": "load 2.01 at the start", "": "load at the start unknown"} {
		assert.Equal(t, want, highLoad(&result.Setting{Load: load, Processors: 2}))
	}
}

// overheadResults has ten rounds of one case.
func overheadResults(again, fork, allocations float64) *result.File[*overhead.Results] {
	c := overhead.Case{Workload: "FindOne", Goroutines: 8}
	r := &overhead.Results{Rounds: 10, Slices: 4, Arms: []string{"upstream", "again", "fork"}, Cases: []overhead.Case{c}}
	for i, time := range []float64{1, again, fork} {
		samples := map[string][]float64{overhead.Allocations: slices.Repeat([]float64{30}, 10)}
		for _, unit := range []string{overhead.Time, overhead.ProcessorTime, overhead.Bytes} {
			samples[unit] = slices.Repeat([]float64{20_000 * time}, 10)
		}
		samples[overhead.Time][0] *= 1.001 // which widens no bounds
		if i == 2 {
			samples[overhead.Allocations] = slices.Repeat([]float64{30 + allocations}, 10)
		}
		r.Cells = append(r.Cells, &overhead.Cell{Case: c, Arm: r.Arms[i], Operations: 1, Samples: samples})
	}
	return &result.File[*overhead.Results]{Setting: &result.Setting{Load: "0.1", Processors: 2}, Results: r}
}

func TestOverhead(t *testing.T) {
	verdicts := func(f *result.File[*overhead.Results]) string {
		goals := overheadGoals("v9", f)
		return goals[0].verdicts() + " | " + goals[1].verdicts()
	}
	assert.Equal(t, "yes | yes", verdicts(overheadResults(1, 0.99, -1)))
	assert.Equal(t, "no, by 0.040 | no, by 0.5", verdicts(overheadResults(1, 1.05, 1)))
	assert.Equal(t, "not decided: upstream, of itself, is 1.020 | yes", verdicts(overheadResults(1.02, 0.99, 0)))
	assert.Equal(t, "not decided: upstream, of itself, is 0.980 | yes", verdicts(overheadResults(0.98, 1.05, 0)))
	busy := overheadResults(1, 0.99, 0)
	busy.Setting.Load = "2.5"
	assert.Equal(t, "not decided: load 2.5 at the start | yes", verdicts(busy))
	close := overheadResults(1, 1.01, 0)
	for i := range 5 {
		close.Results.Cells[2].Samples[overhead.Time][i] *= 1.01
	}
	assert.Equal(t, "not decided: within the bounds | yes", verdicts(close))

	var text strings.Builder
	require.NoError(t, PrintOverhead(&text, overheadResults(1, 1.05, -1).Results))
	assert.Regexp(t, `FindOne +│ +8 +│ 20.0 µs +│ 1.000 │ 1.050`, text.String())
	assert.Regexp(t, `FindOne +│ +8 +│ 30.0 +│ 30.0 +│ 29.0`, text.String())
}

func TestBucketGoals(t *testing.T) {
	row := func(benchmark string, times ...float64) *throttle.Row {
		return &throttle.Row{Benchmark: benchmark, Limiter: throttle.Inlined, Processors: 1, Samples: map[string][]float64{
			"ns/op": times, "allocs/op": {0},
		}}
	}
	f := &result.File[[]*throttle.Row]{Setting: &result.Setting{Load: "0", Processors: 1}, Results: []*throttle.Row{
		row("DepositWhenFull", slices.Repeat([]float64{2.75}, 9)...), row("ConsumeAndDeposit", 30, 30, 30, 30, 41, 50, 50, 50, 50),
	}}
	goals := bucketGoals(f)
	assert.Equal(t, "no, by 0.8", goals[0].verdicts())
	assert.Equal(t, "not decided: within the bounds", goals[1].verdicts())
	require.NoError(t, PrintBucket(new(strings.Builder), f.Results))
}

// fakeResults has all scenarios.
func fakeResults() *goodput.Results {
	return &goodput.Results{
		Runs:  fakeRuns(goodput.Scenarios()),
		Storm: goodput.Storm{Clients: 500},
		Storms: []goodput.StormRun{
			{Arm: goodput.NoRetry, Report: &openloop.StormReport{Connected: 500, Last: 9 * time.Second}},
			{Arm: goodput.TwoRetries, Report: &openloop.StormReport{Connected: 500, Last: 8 * time.Second}},
			{Arm: goodput.Adaptive, Idle: 0.3, Report: &openloop.StormReport{Connected: 497}},
			{Arm: goodput.Throttling, Idle: 0.3, Report: &openloop.StormReport{Connected: 500, Last: 10 * time.Second, Errors: 21, Cleared: 3}},
		},
	}
}

// fakeRuns has scenarios with all their arms: without retries half of the operations succeed, with others two fifths, and with those
// that throttle all.
func fakeRuns(scenarios []goodput.Scenario) []goodput.Run {
	var all []goodput.Run
	for _, s := range scenarios {
		for i, arm := range s.Arms {
			good := map[string]int{goodput.NoRetry: 50, goodput.Throttling: 100}[arm]
			run := goodput.Run{Scenario: s, Arm: arm, Report: &openloop.Report{Arrived: 100, Succeeded: 40, Commands: 112}}
			if good > 0 {
				run.Report.Succeeded = good
			}
			if s.Shared {
				run.Beside = s.Arms[1-i]
				run.Plan.Seed += uint64(1000 * i)
			}
			run.Plan.Duration = time.Duration(float64(run.Report.Succeeded) / run.Plan.Capacity * float64(time.Second))
			run.Report.Failed, run.Report.Good = 100-run.Report.Succeeded, run.Report.Succeeded
			run.Report.Series = slices.Repeat([]openloop.Interval{{Due: 10, Good: 10}}, 40)
			all = append(all, run)
		}
	}
	return all
}

func fakeFile() *result.File[*goodput.Results] {
	return &result.File[*goodput.Results]{Setting: &result.Setting{Load: "1", Processors: 2}, Results: fakeResults()}
}

func TestTokenGoals(t *testing.T) {
	text := strings.Join(lines(goalTable(tokenGoals(fakeFile()), false)), "\n")
	for _, row := range []string{
		"| commands per operation, tokens spent: 2 ×; 4 × | at most 1.15; 1.05 | 1.12; 1.12 | 2 ×: yes; 4 ×: no, by 0.07 |",
		"| errors in a long spike, of those without retries: 10 clients; 1 client | at most 1.15 | 1.20; 1.20 | no, by 0.05 |",
		"| recovery after it, seconds later than without retries: 10 clients; 1 client | at most 0.5 | 0.0; 0.0 | yes |",
		"reads that succeed, %: 1.25 ×; 2 ×; 4 × | at least 99.00 | 40.00; 40.00; 40.00 | no, by 59.00 |",
		"| connection storm: clients that do not connect | at most 0 | 3 | no, by 3 |",
		"| connection storm: pools with connections cleared | at most 0 | - | not decided: nothing to compare with |",
	} {
		assert.Contains(t, text, row)
	}

	// One seed of three may be late; then nothing is said of the driver, nor of those that are compared with it.
	for _, arm := range []string{goodput.NoRetry, goodput.Adaptive} {
		late := fakeFile()
		for i := range late.Results.Runs {
			run := &late.Results.Runs[i]
			if run.Kind == goodput.Spike && run.Arm == arm {
				run.Report.Lag.P99 = 101 * time.Millisecond
				if verdict := tokenGoals(late)[4].verdicts(); run.Plan.Seed < 2 {
					assert.Equal(t, "no, by 0.05", verdict)
				} else {
					assert.Equal(t, map[string]string{
						goodput.NoRetry:  "not decided: operations began late",
						goodput.Adaptive: "10 clients: not decided: operations began late; 1 client: no, by 0.05",
					}[arm], verdict)
				}
			}
		}
	}
}

func TestThrottlingGoals(t *testing.T) {
	trial := func(name string, arm sim.Policy, errors float64) study.Trial {
		return study.Trial{Case: name, Arm: string(arm), Errors: errors, Goodput: 0.96}
	}
	s := &study.Throttling{Goals: []study.Trial{
		trial(study.Sustained(2, 0.1), sim.Throttling, 0.5),
		trial(study.Bursts(1), sim.Throttling, 0.01), trial(study.Bursts(1), sim.NoRetry, 0.2),
	}}
	r := fakeResults()
	measured := strings.Join(lines(goalTable(throttlingGoals(evidence{runs: r.Runs, storms: r.Storms, simulated: s}), true)), "\n")
	for _, row := range []string{
		"1.1 ×; 1.5 ×; 2 ×; 4 × | at least 95.0; 95.0; 95.0; 90.0 | -; -; 96.0; - | 100.0; 100.0; 100.0; 100.0 | yes |",
		"| errors in short bursts, of those without retries: 1 client; 10 clients; 100 clients | at most 0.15 | 0.05; -; - | -; 0.00; - |",
		"100 clients of a server five times as fast | at least 93.0 | - | 100.0; 100.0; 100.0; 100.0 | yes |",
		"beside upstream v2.5.0; beside upstream v2.9.3; beside fork | at least 1.00 | - | 1.00; 1.00; 1.00 | yes |",
		"| own success in it, of the neighbours': beside upstream v2.5.0 | at least 0.50 | - | 2.00 | yes |",
		"| connection storm: seconds later than the faster of upstream's | at most 0.0 | - | 2.0 | no, by 2.0 |",
		"| connection storm: errors | at most 20 | - | 21 | no, by 1 |",
	} {
		assert.Contains(t, measured, row)
	}
	fleets := fakeRuns(goodput.FleetScenarios())
	peers := []goodput.StormRun{
		{Arm: goodput.PyMongo, Report: &openloop.StormReport{Last: 9 * time.Second}},
		{Arm: goodput.NodeDriver, Report: &openloop.StormReport{Last: 7 * time.Second}},
		{Arm: goodput.Throttling, Idle: 0.3, Report: &openloop.StormReport{Last: 6 * time.Second}},
	}
	all := strings.Join(lines(goalTable(throttlingGoals(evidence{runs: slices.Concat(r.Runs, fleets), storms: r.Storms, peers: peers, simulated: s}), true)), "\n")
	for _, row := range []string{
		"| errors in short bursts, of those without retries: 1 client; 10 clients; 100 clients | at most 0.15 | 0.05; -; - | 0.00; 0.00; 0.00 | yes |",
		"| errors at 95 % of the capacity, of those without retries | at most 1.00 | - | 0.00 | yes |",
		"| commands per operation in it | at most 1.15 | - | 1.12 | yes |",
		"PyMongo and Node's | at most 0.0 | - | -1.0 | yes |",
	} {
		assert.Contains(t, all, row)
	}
	simulated := strings.Join(lines(goalTable(throttlingGoals(evidence{simulated: s}), true)), "\n")
	assert.NotContains(t, simulated, "| yes |")
	assert.Contains(t, simulated, "| connection storm: errors | at most 20 | - | - | not measured |")
}

func TestRecovered(t *testing.T) {
	load := arrival.Load{Base: 0.8, Start: 500 * time.Millisecond, Burst: 500 * time.Millisecond}
	served := []float64{1, 0.1, 0.9, 0.1, 0.9, 1, 1, 1}
	assert.Equal(t, 1.0, recovered(served, 500*time.Millisecond, load), "one good interval is not enough")
	served[5], served[7] = 0, 0
	assert.Equal(t, math.Inf(1), recovered(served, 500*time.Millisecond, load))
}

func TestPrintGoodput(t *testing.T) {
	r := fakeResults()
	for i, run := range r.Runs {
		if run.Kind == goodput.Spike && run.Arm == goodput.Fork && run.Plan.Seed < 3 {
			r.Runs[i].Report.Series = nil
		}
	}
	var text strings.Builder
	require.NoError(t, PrintGoodput(&text, r))
	for _, cell := range []string{goodput.Drained, " 497 ", "0.0 (2 of 3 never)"} {
		assert.Contains(t, text.String(), cell)
	}
}
