package report

import (
	"io"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"mongofork/bench/internal/goodput"
)

// PrintGoodput prints all runs and the storms, if there are any.
func PrintGoodput(w io.Writer, r *goodput.Results) error {
	if len(r.Runs) > 0 {
		if err := printTable(w, allTable(r.Runs)); err != nil {
			return err
		}
	}
	if len(r.Storms) == 0 {
		return nil
	}
	return printTable(w, stormTable(r))
}

// runTable has a row for each group of runs.
func runTable(groups [][]goodput.Run, columns ...column) table.Writer {
	var header []any
	for _, column := range columns {
		header = append(header, column.name)
	}
	t := newTable(header...)
	for _, group := range groups {
		var row table.Row
		for _, column := range columns {
			row = append(row, column.of(group))
		}
		t.AppendRow(row)
	}
	return t
}

// allTable is the table for a terminal.
func allTable(runs []goodput.Run) table.Writer {
	kind := label("scenario", func(r goodput.Run) string { return r.Kind })
	first := []column{kind, loadColumn(), costColumn(), clientsColumn(), seedsColumn()}
	beside := label("beside", func(r goodput.Run) string { return r.Beside })
	last := []column{beside, fairnessColumn()}
	return runTable(grouped(runs), slices.Concat(first, outcomeColumns(), last, trustColumns())...)
}

// kindTable is the page's table for a kind of scenario.
func kindTable(r *goodput.Results, kind string) table.Writer {
	runs := slices.DeleteFunc(slices.Clone(r.Runs), func(run goodput.Run) bool { return run.Kind != kind })
	var first, last []column
	switch kind {
	case goodput.Sustained:
		first, last = []column{costColumn(), loadColumn(), capacityColumn(), seedsColumn()}, trustColumns()
	case goodput.Clients:
		first, last = []column{clientsColumn()}, []column{fairnessColumn(), lateColumn()}
	case goodput.Member:
		first, last = []column{memberColumn()}, []column{lateColumn()}
	case goodput.Spike:
		first, last = []column{seedsColumn()}, []column{recoveryColumn(), lateColumn()}
	default:
		last = []column{lateColumn()}
	}
	if kind != goodput.Sustained && anySlower(r, runs) {
		first = append(first, capacityColumn())
	}
	return runTable(grouped(runs), slices.Concat(first, outcomeColumns(), last)...)
}

// anySlower tells whether some servers had less than the usual capacity.
func anySlower(r *goodput.Results, runs []goodput.Run) bool {
	return slices.ContainsFunc(runs, func(run goodput.Run) bool { return run.Capacity() < float64(r.Capacity) })
}

// measuredBursts has the medians over the seeds.
func measuredBursts(r *goodput.Results) table.Writer {
	t := newTable("capacity, requests/s", "driver", "seeds", "errors, %", "of those without retries", "commands per operation")
	for _, arm := range arms(r, goodput.Bursts) {
		runs := ofKind(r, goodput.Bursts, arm)
		t.AppendRow(table.Row{
			runs[0].Capacity(), arm, len(runs), rangeOf(values(runs, func(run goodput.Run) float64 { return 100 * run.Errors() }), "%.1f"),
			rangeOf(ratios(r, runs, goodput.Run.Errors), "%.2f"), rangeOf(values(runs, goodput.Run.CommandsPerOperation), "%.2f"),
		})
	}
	return t
}

// runRecovery returns how long after the burst of a run its goodput is back.
func runRecovery(r goodput.Run) (time.Duration, bool) {
	served := make([]float64, len(r.Report.Series))
	for i, interval := range r.Report.Series {
		served[i] = float64(interval.Good) / float64(max(1, interval.Due))
	}
	return recovered(served, r.Plan.Interval, r.Plan.Load)
}
