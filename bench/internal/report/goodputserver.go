package report

import (
	"fmt"
	"math"

	"github.com/jedib0t/go-pretty/v6/table"

	"mongofork/bench/internal/goodput"
)

// serverPair is a run with a real server behind the lab, and its like with canned replies.
type serverPair struct {
	server goodput.Run
	canned *goodput.Run // nil if there is none
	// The ratios of the goodput to that of the driver without retries; NaN if unknown.
	serverRatio, cannedRatio float64
}

// serverPairs returns a pair for each run on the server. The canned results may be nil.
func serverPairs(server, canned *goodput.Results) []serverPair {
	var pairs []serverPair
	for _, run := range server.Runs {
		pair := serverPair{server: run, serverRatio: ratioTo(server, run), cannedRatio: math.NaN()}
		if like := likeOf(canned, run, run.Arm); like != nil {
			pair.canned, pair.cannedRatio = like, ratioTo(canned, *like)
		}
		pairs = append(pairs, pair)
	}
	return pairs
}

// ratioTo returns the ratio of a run's goodput to that of the driver which does not retry.
func ratioTo(r *goodput.Results, run goodput.Run) float64 {
	without := likeOf(r, run, goodput.NoRetry)
	if without == nil || without.Goodput() == 0 {
		return math.NaN()
	}
	return run.Goodput() / without.Goodput()
}

// likeOf returns the run of an arm that met the same as another, on servers of the same capacity; nil if there is none.
func likeOf(r *goodput.Results, run goodput.Run, arm string) *goodput.Run {
	if r == nil {
		return nil
	}
	for _, other := range r.Runs {
		same := encounterOf(other) == encounterOf(run) && other.Plan.Seed == run.Plan.Seed && other.Capacity() == run.Capacity()
		if same && other.Arm == arm {
			return &other
		}
	}
	return nil
}

// goodputServerTable has a row for each arm.
func goodputServerTable(server, canned *goodput.Results) table.Writer {
	t := newTable("load", "rejection cost", "driver", "goodput, %, server", "canned", "of that without retries, server", "canned",
		"commands per operation, server", "canned", "started late, p99, ms", "server's work, %", "processors idle, %")
	known := func(format string, value float64) string {
		if math.IsNaN(value) {
			return notMeasured
		}
		return fmt.Sprintf(format, value)
	}
	for _, p := range serverPairs(server, canned) {
		run := p.server
		cannedGoodput, cannedCommands := math.NaN(), math.NaN()
		if p.canned != nil {
			cannedGoodput, cannedCommands = 100*p.canned.Goodput(), p.canned.CommandsPerOperation()
		}
		t.AppendRow(table.Row{run.Plan.Load.Base, percent(run.RejectionCost), run.Arm,
			fmt.Sprintf("%.1f", 100*run.Goodput()), known("%.1f", cannedGoodput),
			known("%.3f", p.serverRatio), known("%.3f", p.cannedRatio),
			fmt.Sprintf("%.2f", run.CommandsPerOperation()), known("%.2f", cannedCommands),
			milliseconds(run.Report.Lag.P99), fmt.Sprintf("%.0f", 100*run.Work()), fmt.Sprintf("%.0f", 100*run.Idle)})
	}
	return t
}

// agreement says how much the ratios to no retry differ.
func agreement(server, canned *goodput.Results) string {
	most, arm := math.NaN(), ""
	for _, p := range serverPairs(server, canned) {
		apart := math.Abs(p.serverRatio - p.cannedRatio)
		if p.server.Arm != goodput.NoRetry && !math.IsNaN(apart) && !(apart <= most) {
			most, arm = apart, p.server.Arm
		}
	}
	if arm == "" {
		return "How the ratios compare with those of canned replies was not measured."
	}
	return fmt.Sprintf("The ratios to the goodput without retries differ from those of canned replies by at most %.3f (`%s`).", most, arm)
}
