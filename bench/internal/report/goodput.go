package report

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"mongofork/bench/internal/goodput"
)

// PrintGoodput prints all runs, and the storms.
func PrintGoodput(w io.Writer, r *goodput.Results) error {
	if err := printTable(w, allTable(r.Runs)); err != nil || len(r.Storms) == 0 {
		return err
	}
	return printTable(w, stormTable(r))
}

// runTable has a row for each run.
func runTable(runs []goodput.Run, columns ...figure) table.Writer {
	var header []any
	for _, column := range columns {
		header = append(header, column.name)
	}
	t := newTable(header...)
	for _, r := range runs {
		var row table.Row
		for _, column := range columns {
			row = append(row, column.of(r))
		}
		t.AppendRow(row)
	}
	return t
}

// allTable is what a terminal shows.
func allTable(runs []goodput.Run) table.Writer {
	kind := figure{"scenario", func(r goodput.Run) string { return r.Kind }}
	first := []figure{kind, loadColumn(), costColumn(), clientsColumn()}
	return runTable(runs, slices.Concat(first, outcomeColumns(), []figure{fairnessColumn()}, trustColumns())...)
}

// kindTable is what the page has of a kind of scenario.
func kindTable(r *goodput.Results, kind string) table.Writer {
	runs := slices.DeleteFunc(slices.Clone(r.Runs), func(run goodput.Run) bool { return run.Kind != kind })
	switch kind {
	case goodput.Sustained:
		return runTable(runs, slices.Concat([]figure{costColumn(), loadColumn()}, outcomeColumns(), trustColumns())...)
	case goodput.Clients:
		return runTable(runs, slices.Concat([]figure{clientsColumn()}, outcomeColumns(), []figure{fairnessColumn(), lateColumn()})...)
	case goodput.Member:
		return runTable(runs, slices.Concat([]figure{memberColumn()}, outcomeColumns(), []figure{lateColumn()})...)
	case goodput.Spike:
		return runTable(runs, slices.Concat(outcomeColumns(), []figure{recoveryColumn(), lateColumn()})...)
	default:
		return runTable(runs, append(outcomeColumns(), lateColumn())...)
	}
}

// measuredBursts has the medians over the seeds.
func measuredBursts(r *goodput.Results) table.Writer {
	t := newTable("driver", "seeds", "errors, %", "of those without retries", "commands per operation")
	without := ofKind(r, goodput.Bursts, goodput.NoRetry)
	for _, arm := range arms(r, goodput.Bursts) {
		var errors, ratios, commands []float64
		for i, run := range ofKind(r, goodput.Bursts, arm) {
			errors, commands = append(errors, 100*run.Errors()), append(commands, run.CommandsPerOperation())
			ratios = append(ratios, run.Errors()/without[i].Errors())
		}
		t.AppendRow(table.Row{arm, len(errors), rangeOf(errors, "%.1f"), rangeOf(ratios, "%.2f"), rangeOf(commands, "%.2f")})
	}
	return t
}

// arms returns the arms of a kind of scenario, in the order in which they appear first.
func arms(r *goodput.Results, kind string) []string {
	var all []string
	for _, run := range r.Runs {
		if run.Kind == kind && !slices.Contains(all, run.Arm) {
			all = append(all, run.Arm)
		}
	}
	return all
}

// stormTable has a row for each arm.
func stormTable(r *goodput.Results) table.Writer {
	t := newTable("driver", "clients connected", "after, ms", "half of them after, ms", "errors",
		"clients that saw any", "pools cleared", "heartbeats failed")
	for _, s := range r.Storms {
		t.AppendRow(table.Row{s.Arm, fmt.Sprintf("%d of %d", s.Report.Connected, r.Storm.Clients), milliseconds(s.Report.Last),
			milliseconds(s.Report.Latency.P50), s.Report.Errors, s.Report.Unlucky, s.Report.Cleared, s.Report.Heartbeats})
	}
	return t
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

// runRecovery returns how long after the burst of a run its goodput is back.
func runRecovery(r goodput.Run) (time.Duration, bool) {
	served := make([]float64, len(r.Report.Series))
	for i, interval := range r.Report.Series {
		served[i] = float64(interval.Good) / float64(max(1, interval.Due))
	}
	return recovered(served, r.Plan.Interval, r.Plan.Load)
}
