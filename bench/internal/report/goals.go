package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"mongofork/bench/internal/goodput"
)

// The goals that are no share of goodput.
const (
	commandsAtTwice     = 1.15
	commandsAtFourTimes = 1.05
	burstErrors         = 0.25 // of those without retries
	spikeErrors         = 1.15 // of those without retries
	recoveryDelay       = 500 * time.Millisecond
	memberSuccess       = 0.99
	memberCommands      = 1.1
)

// measuredGoals has what was measured against the goals.
type measuredGoals struct {
	*goodput.Results
	table table.Writer
}

// measuredGoalTable has a row for each goal that something was measured for.
func measuredGoalTable(r *goodput.Results) table.Writer {
	g := measuredGoals{Results: r, table: newTable("goal for adaptiveRetries", "wanted", "measured", "met")}
	g.commands()
	g.sustained()
	g.bursts()
	g.spike()
	g.member()
	g.storm()
	return g.table
}

// atMost adds a goal that is an upper bound.
func (g measuredGoals) atMost(what string, want, got float64) {
	g.table.AppendRow(table.Row{what, fmt.Sprintf("at most %.2f", want), fmt.Sprintf("%.3f", got), met(got <= want, got-want, "%.3f")})
}

// atLeast adds a goal that is a lower bound.
func (g measuredGoals) atLeast(what string, want, got float64) {
	g.table.AppendRow(table.Row{what, fmt.Sprintf("at least %.2f", want), fmt.Sprintf("%.3f", got), met(got >= want, got-want, "%.3f")})
}

// ofKind returns the runs of a kind of scenario with an arm.
func ofKind(r *goodput.Results, kind, arm string) []goodput.Run {
	var some []goodput.Run
	for _, run := range r.Runs {
		if run.Kind == kind && run.Arm == arm {
			some = append(some, run)
		}
	}
	return some
}

func (g measuredGoals) commands() {
	for _, run := range ofKind(g.Results, goodput.Sustained, goodput.Drained) {
		want := map[float64]float64{2: commandsAtTwice, 4: commandsAtFourTimes}[run.Plan.Load.Base]
		if want > 0 && run.RejectionCost == 0.1 {
			g.atMost(fmt.Sprintf("commands per operation at %v × the capacity, tokens spent", run.Plan.Load.Base), want, run.CommandsPerOperation())
		}
	}
}

// sustained compares the goodput with that without retries, where there is any.
func (g measuredGoals) sustained() {
	const least, cheap = 0.01, 0.05
	without := ofKind(g.Results, goodput.Sustained, goodput.NoRetry)
	for i, run := range ofKind(g.Results, goodput.Sustained, goodput.Drained) {
		what := fmt.Sprintf("goodput at %v × the capacity, rejection cost %s, of that without retries", run.Plan.Load.Base, percent(run.RejectionCost))
		if run.RejectionCost < cheap {
			continue
		}
		if without[i].Goodput() < least {
			g.table.AppendRow(table.Row{what, "-", "-", "the overload alone takes all of the capacity"})
			continue
		}
		g.atLeast(what, goodputGoal(run.RejectionCost), run.Goodput()/without[i].Goodput())
	}
}

func (g measuredGoals) bursts() {
	without := ofKind(g.Results, goodput.Bursts, goodput.NoRetry)
	var ratios []float64
	for i, run := range ofKind(g.Results, goodput.Bursts, goodput.Adaptive) {
		ratios = append(ratios, run.Errors()/without[i].Errors())
	}
	if len(ratios) > 0 {
		g.atMost(fmt.Sprintf("errors in short bursts, of those without retries, median of %d seeds", len(ratios)), burstErrors, median(ratios))
	}
}

func (g measuredGoals) spike() {
	without, adaptive := ofKind(g.Results, goodput.Spike, goodput.NoRetry), ofKind(g.Results, goodput.Spike, goodput.Adaptive)
	if len(without) == 0 || len(adaptive) == 0 {
		return
	}
	g.atMost("errors in a long spike, of those without retries", spikeErrors, adaptive[0].Errors()/without[0].Errors())
	before, ok := runRecovery(without[0])
	after, okAfter := runRecovery(adaptive[0])
	got := "no recovery"
	if ok && okAfter {
		got = (after - before).String() + " later"
	}
	late := after - before - recoveryDelay
	g.table.AppendRow(table.Row{"recovery after a long spike, compared with no retry", "at most " + recoveryDelay.String() + " later", got,
		met(ok && okAfter && late <= 0, late.Seconds(), "%.1f s")})
}

// runRecovery returns how long after the burst of a run its goodput is back.
func runRecovery(r goodput.Run) (time.Duration, bool) {
	served := make([]float64, len(r.Report.Series))
	for i, interval := range r.Report.Series {
		served[i] = float64(interval.Good) / float64(max(1, interval.Due))
	}
	return recovered(served, r.Plan.Interval, r.Plan.Load)
}

func (g measuredGoals) member() {
	for _, run := range ofKind(g.Results, goodput.Member, goodput.Adaptive) {
		what := fmt.Sprintf("one of %d members gets %.2f × what it admits: ", run.Members, run.MemberLoad())
		g.atLeast(what+"share of reads that succeed", memberSuccess, 1-run.Errors())
		g.atMost(what+"commands per operation", memberCommands, run.CommandsPerOperation())
	}
}

func (g measuredGoals) storm() {
	i := slices.IndexFunc(g.Storms, func(s goodput.StormRun) bool { return s.Arm == goodput.Adaptive })
	if i < 0 {
		return
	}
	report := g.Storms[i].Report
	missing := g.Storm.Clients - report.Connected
	g.table.AppendRow(table.Row{"connection storm: clients that connect", g.Storm.Clients, report.Connected,
		met(missing == 0, float64(missing), "%.0f")})
	g.table.AppendRow(table.Row{"connection storm: pools cleared", 0, report.Cleared, met(report.Cleared == 0, float64(report.Cleared), "%.0f")})
}
