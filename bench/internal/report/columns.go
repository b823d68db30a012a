package report

import (
	"fmt"
	"strconv"
	"time"

	"mongofork/bench/internal/goodput"
)

// column is a column of a table with a row for each group of runs that differ in nothing but their seeds.
type column struct {
	name string
	of   func(group []goodput.Run) string
}

// label is a column of what the runs of a group have in common.
func label(name string, of func(goodput.Run) string) column {
	return column{name, func(group []goodput.Run) string { return of(group[0]) }}
}

// number is a column of the medians and ranges of what was measured.
func number(name, format string, of func(goodput.Run) float64) column {
	return column{name, func(group []goodput.Run) string { return medianAndRange(values(group, of), format) }}
}

// values returns a figure of each run.
func values(runs []goodput.Run, of func(goodput.Run) float64) []float64 {
	var all []float64
	for _, run := range runs {
		all = append(all, of(run))
	}
	return all
}

// medianAndRange leaves the range of one value out.
func medianAndRange(all []float64, format string) string {
	if len(all) == 1 {
		return fmt.Sprintf(format, all[0])
	}
	return rangeOf(all, format)
}

// loadColumn and the functions after it are columns of tables of runs.
func loadColumn() column {
	return label("load", func(r goodput.Run) string { return fmt.Sprintf("%v", max(r.Plan.Load.Base, r.Plan.Load.Peak)) })
}

func costColumn() column {
	return label("rejection cost", func(r goodput.Run) string { return percent(r.RejectionCost) })
}

func capacityColumn() column {
	return label("capacity, requests/s", func(r goodput.Run) string { return fmt.Sprintf("%v", r.Capacity()) })
}

func clientsColumn() column {
	return label("clients", func(r goodput.Run) string { return strconv.Itoa(r.Plan.Clients) })
}

func memberColumn() column {
	return label("load on the member", func(r goodput.Run) string { return fmt.Sprintf("%.2f", r.MemberLoad()) })
}

func seedsColumn() column {
	return column{"seeds", func(group []goodput.Run) string { return strconv.Itoa(len(group)) }}
}

func fairnessColumn() column { return number("fairness", "%.3f", goodput.Run.Fairness) }

// recoveryColumn has the times of all seeds where one of them has not recovered.
func recoveryColumn() column {
	return column{"recovered after, s", func(group []goodput.Run) string {
		var all []float64
		missing := 0
		for _, r := range group {
			if after, ok := runRecovery(r); ok {
				all = append(all, after.Seconds())
			} else {
				missing++
			}
		}
		load, until := group[0].Plan.Load, group[0].Plan.Duration
		switch never := fmt.Sprintf("not in %v", (until - load.Start - load.Burst).Seconds()); missing {
		case 0:
			return medianAndRange(all, "%.1f")
		case len(group):
			return never
		default:
			return fmt.Sprintf("%s; %d of %d %s", medianAndRange(all, "%.1f"), missing, len(group), never)
		}
	}}
}

// outcomeColumns show what the application saw.
func outcomeColumns() []column {
	return []column{
		label("driver", func(r goodput.Run) string { return r.Arm }),
		number("goodput, %", "%.1f", func(r goodput.Run) float64 { return 100 * r.Goodput() }),
		number("commands per operation", "%.2f", goodput.Run.CommandsPerOperation),
		number("errors, %", "%.1f", func(r goodput.Run) float64 { return 100 * r.Errors() }),
		number("p50, ms", "%.0f", func(r goodput.Run) float64 { return inMilliseconds(r.Report.Latency.P50) }),
		number("p99, ms", "%.0f", func(r goodput.Run) float64 { return inMilliseconds(r.Report.Latency.P99) }),
		number("p99.9, ms", "%.0f", func(r goodput.Run) float64 { return inMilliseconds(r.Report.Latency.P999) }),
	}
}

func lateColumn() column {
	return number("started late, p99, ms", "%.0f", func(r goodput.Run) float64 { return inMilliseconds(r.Report.Lag.P99) })
}

// trustColumns tell whether a run can be trusted.
func trustColumns() []column {
	return []column{
		number("given up, %", "%.0f", func(r goodput.Run) float64 { return 100 * r.GivenUp() }),
		lateColumn(),
		number("server's work, %", "%.0f", func(r goodput.Run) float64 { return 100 * r.Work() }),
		number("processors used, %", "%.0f", func(r goodput.Run) float64 { return 100 * r.Used }),
		number("processors idle, %", "%.0f", func(r goodput.Run) float64 { return 100 * r.Idle }),
	}
}

func inMilliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.0f", inMilliseconds(d)) }
