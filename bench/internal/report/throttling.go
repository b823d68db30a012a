package report

import (
	"fmt"
	"math"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"mongofork/bench/internal/sim"
	"mongofork/bench/internal/study"
)

// trialOf returns the trial of a case with an arm. There is one of each.
func trialOf(all []study.Trial, name, arm string) study.Trial {
	for _, t := range all {
		if t.Case == name && t.Arm == arm {
			return t
		}
	}
	return study.Trial{Case: name, Arm: arm}
}

// throttlingGoals collects the goals of throttling.
type throttlingGoals struct {
	trials []study.Trial
	rows   []table.Row
}

// throttlingGoalTable has a row for each goal.
func throttlingGoalTable(s *study.Throttling) table.Writer {
	g := &throttlingGoals{trials: s.Goals}
	g.sustained()
	g.fromStart()
	g.brief()
	g.flapping()
	g.latency()
	g.beside()
	g.members()
	t := newTable("what", "wanted", "throttling", "no retry", "five retries", "bucket, full", "met")
	t.AppendRows(g.rows)
	return t
}

// figure is the figure of a goal.
type figure struct {
	of     func(study.Trial) float64
	format string
}

func goodputFigure() figure {
	return figure{func(t study.Trial) float64 { return 100 * t.Goodput }, "%.1f"}
}

func errorFigure() figure {
	return figure{func(t study.Trial) float64 { return 100 * t.Errors }, "%.1f"}
}

func commandFigure() figure {
	return figure{func(t study.Trial) float64 { return t.Commands }, "%.2f"}
}

// of returns the figure of an arm.
func (g *throttlingGoals) of(f figure, name string, arm sim.Policy) float64 {
	return f.of(trialOf(g.trials, name, string(arm)))
}

// row adds a row. The distance is how far throttling is from the goal, positive if it is missed.
func (g *throttlingGoals) row(what, wanted, name string, f figure, distance float64) {
	row := table.Row{what, wanted}
	for _, arm := range []sim.Policy{sim.Throttling, sim.NoRetry, sim.FiveRetries, sim.FullBucket} {
		row = append(row, fmt.Sprintf(f.format, g.of(f, name, arm)))
	}
	g.rows = append(g.rows, append(row, met(distance <= 0, distance, f.format)))
}

// atLeast adds a goal that is a lower bound.
func (g *throttlingGoals) atLeast(what, name string, f figure, want float64) {
	g.row(what, fmt.Sprintf("at least "+f.format, want), name, f, want-g.of(f, name, sim.Throttling))
}

// atMost adds a goal that is an upper bound.
func (g *throttlingGoals) atMost(what, name string, f figure, want float64) {
	g.row(what, fmt.Sprintf("at most "+f.format, want), name, f, g.of(f, name, sim.Throttling)-want)
}

// atMostOf adds a goal that is an upper bound, as a share of the figure without retries.
func (g *throttlingGoals) atMostOf(what, name string, f figure, share float64) {
	want := share * g.of(f, name, sim.NoRetry)
	g.row(what, fmt.Sprintf("at most %v of no retry, "+f.format, share, want), name, f, g.of(f, name, sim.Throttling)-want)
}

func (g *throttlingGoals) sustained() {
	for _, c := range []struct{ load, cost, goodput, commands float64 }{
		{1.1, 0.1, 95, 0}, {1.5, 0.1, 95, 0}, {2, 0.1, 95, 0.70}, {4, 0.1, 90, 0.48}, {10, 0.1, 0, 0.36}, {10, 0.02, 95, 0}, {2, 0.5, 78, 0},
	} {
		name := study.Sustained(c.load, c.cost)
		if c.goodput > 0 {
			g.atLeast(name+": goodput, % of the capacity", name, goodputFigure(), c.goodput)
		}
		if c.commands > 0 {
			g.atMost(name+": commands per operation", name, commandFigure(), c.commands)
		}
	}
}

func (g *throttlingGoals) fromStart() {
	fairness := figure{func(t study.Trial) float64 { return t.Fairness }, "%.2f"}
	for _, clients := range []int{1, 10, 100} {
		for _, name := range []string{study.FromStart(clients), study.FromStartFast(clients)} {
			g.atLeast(name+", 2 ×: goodput of 30 s", name, goodputFigure(), 93)
			g.atLeast(name+", 2 ×: fairness", name, fairness, 0.9)
		}
	}
}

func (g *throttlingGoals) brief() {
	recovery := figure{func(t study.Trial) float64 { return t.Recovery.Seconds() }, "%.1f s"}
	for _, clients := range []int{1, 10, 100} {
		g.atMostOf(study.Bursts(clients)+": errors, %", study.Bursts(clients), errorFigure(), 0.15)
		g.atMostOf(study.Spike(clients)+": errors, %", study.Spike(clients), errorFigure(), 0.9)
		g.atMost(study.Spike(clients)+": until the last operation begins that fails", study.Spike(clients), recovery, 1)
	}
}

func (g *throttlingGoals) flapping() {
	g.atMostOf(study.Flap+": errors, %", study.Flap, errorFigure(), 1)
	g.atLeast(study.Flap+": goodput", study.Flap, goodputFigure(), g.of(goodputFigure(), study.Flap, sim.NoRetry))
	g.atMostOf(study.BelowFull+": errors, %", study.BelowFull, errorFigure(), 1)
	g.atMost(study.BelowFull+": commands per operation", study.BelowFull, commandFigure(), 1.15)
}

func (g *throttlingGoals) latency() {
	name := study.Sustained(2, 0.1)
	milliseconds := func(of func(study.Trial) time.Duration) figure {
		return figure{func(t study.Trial) float64 { return float64(of(t).Milliseconds()) }, "%.0f ms"}
	}
	g.atMostOf("latency of what succeeds, 2 ×: median", name, milliseconds(func(t study.Trial) time.Duration { return t.Median }), 2)
	g.atMostOf("latency of what succeeds, 2 ×: 99th percentile", name, milliseconds(func(t study.Trial) time.Duration { return t.P99 }), 8)
}

// beside compares what clients that throttle get beside others. Without throttling every other client has five retries.
func (g *throttlingGoals) beside() {
	own := figure{func(t study.Trial) float64 { return 100 * t.Own }, "%.0f"}
	for _, other := range []sim.Policy{sim.NoRetry, sim.TwoRetries, sim.FiveRetries} {
		name := study.Beside(other)
		g.atLeast("2 ×, every other client "+string(other)+": goodput", name, goodputFigure(), g.of(goodputFigure(), name, sim.FiveRetries))
		if other == sim.NoRetry {
			neighbours := 100 * trialOf(g.trials, name, string(sim.Throttling)).Neighbours
			g.atLeast("the same: own success, %, half of the neighbours'", name, own, neighbours/2)
		}
	}
}

func (g *throttlingGoals) members() {
	success := figure{func(t study.Trial) float64 { return 100 * (1 - t.Errors) }, "%.2f"}
	for _, overload := range []float64{1.25, 2, 4} {
		name := study.Member(overload)
		g.atLeast(name+": reads that succeed, %", name, success, 99.9)
		g.atMost(name+": commands per operation", name, figure{commandFigure().of, "%.3f"}, 1.03)
	}
}

// neighbourTable has what clients that throttle and their neighbours get.
func neighbourTable(s *study.Throttling) table.Writer {
	t := newTable("every other client", "goodput, %", "success with throttling, %", "success of the others, %", "goodput with five retries instead, %")
	for _, other := range []sim.Policy{sim.NoRetry, sim.TwoRetries, sim.FiveRetries} {
		throttled := trialOf(s.Goals, study.Beside(other), string(sim.Throttling))
		without := trialOf(s.Goals, study.Beside(other), string(sim.FiveRetries))
		t.AppendRow(table.Row{other, tenths(100 * throttled.Goodput), whole(100 * throttled.Own), whole(100 * throttled.Neighbours),
			tenths(100 * without.Goodput)})
	}
	return t
}

// variantTable has what was tried.
func variantTable(s *study.Throttling) table.Writer {
	t := newTable("variant", "2 ×", "4 ×", "2 ×, 50 %", "commands, 2 ×", "p99, 2 ×", "100 new clients", "their fairness",
		"errors in bursts, 10 clients", "100 clients", "errors in a spike", "recovery", "errors at 95 %", "own / others' success beside no retry",
		"commands, one of three at 2 ×")
	seen := map[string]bool{}
	for _, first := range s.Variants {
		if seen[first.Arm] {
			continue
		}
		seen[first.Arm] = true
		of := func(name string) study.Trial { return trialOf(s.Variants, name, first.Arm) }
		share := func(name string) string {
			return hundredths(of(name).Errors / trialOf(s.Goals, name, string(sim.NoRetry)).Errors)
		}
		twice, new100, spike, beside := of(study.Sustained(2, 0.1)), of(study.FromStart(100)), of(study.Spike(10)), of(study.Beside(sim.NoRetry))
		t.AppendRow(table.Row{first.Arm,
			tenths(100 * twice.Goodput), tenths(100 * of(study.Sustained(4, 0.1)).Goodput), tenths(100 * of(study.Sustained(2, 0.5)).Goodput),
			hundredths(twice.Commands), fmt.Sprintf("%.1f s", twice.P99.Seconds()),
			tenths(100 * new100.Goodput), hundredths(new100.Fairness),
			share(study.Bursts(10)), share(study.Bursts(100)), share(study.Spike(10)), fmt.Sprintf("%.1f s", spike.Recovery.Seconds()),
			share(study.BelowFull), whole(100*beside.Own) + " / " + whole(100*beside.Neighbours),
			fmt.Sprintf("%.3f", of(study.Member(2)).Commands)})
	}
	return t
}

func tenths(v float64) string { return fmt.Sprintf("%.1f", v) }

func whole(v float64) string { return fmt.Sprintf("%.0f", v) }

// hundredths formats a ratio, which may be one of nothing.
func hundredths(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	return fmt.Sprintf("%.2f", v)
}
