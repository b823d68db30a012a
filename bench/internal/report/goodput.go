package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"mongofork/bench/internal/arrival"
	"mongofork/bench/internal/goodput"
)

// PrintGoodput prints all runs and the storms, if there are any.
func PrintGoodput(w io.Writer, r *goodput.Results) error {
	var tables []table.Writer
	if len(r.Runs) > 0 {
		tables = append(tables, runTable(r.Runs))
	}
	if len(r.Storms) > 0 {
		tables = append(tables, stormTable(r))
	}
	return printTables(w, tables...)
}

// runTable has a row for each group of runs that differ only in their seeds.
func runTable(runs []goodput.Run) table.Writer {
	share := func(name, format string, of func(goodput.Run) float64) column[goodput.Run] {
		return number(name, format, func(r goodput.Run) float64 { return 100 * of(r) })
	}
	took := func(name string, of func(goodput.Run) time.Duration) column[goodput.Run] {
		return number(name, "%.0f", func(r goodput.Run) float64 { return inMilliseconds(of(r)) })
	}
	return tableOf(runs,
		label("scenario", func(r goodput.Run) string { return r.Kind }),
		label("rejection cost", func(r goodput.Run) string { return percent(r.RejectionCost) }),
		label("load", func(r goodput.Run) string { return fmt.Sprintf("%v", max(r.Plan.Load.Base, r.Plan.Load.Peak)) }),
		label("capacity", func(r goodput.Run) string { return fmt.Sprintf("%v", r.Capacity()) }),
		label("clients", func(r goodput.Run) string { return strconv.Itoa(r.Plan.Clients) }),
		label("load on the member", memberLoad),
		label("driver", func(r goodput.Run) string { return r.Arm }),
		label("beside", func(r goodput.Run) string { return r.Beside }),
		column[goodput.Run]{name: "seeds", cell: func(group []goodput.Run) string { return strconv.Itoa(len(group)) }},
		share("goodput, %", "%.1f", goodput.Run.Goodput),
		number("commands per operation", "%.2f", goodput.Run.CommandsPerOperation),
		share("errors, %", "%.1f", goodput.Run.Errors),
		took("p50, ms", func(r goodput.Run) time.Duration { return r.Report.Latency.P50 }),
		took("p99, ms", func(r goodput.Run) time.Duration { return r.Report.Latency.P99 }),
		column[goodput.Run]{name: "recovered after, s", cell: recoveryCell},
		number("fairness", "%.3f", goodput.Run.Fairness),
		share("given up, %", "%.0f", goodput.Run.GivenUp),
		took("late, p99, ms", func(r goodput.Run) time.Duration { return r.Report.Lag.P99 }),
		share("server's work, %", "%.0f", goodput.Run.Work),
		share("processors idle, %", "%.0f", func(r goodput.Run) float64 { return r.Idle }),
	)
}

func memberLoad(r goodput.Run) string {
	if r.Limit == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", r.MemberLoad())
}

func inMilliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// recoveryCell says how long after a spike the goodput of runs is back, and for how many it is not.
func recoveryCell(group []goodput.Run) string {
	if group[0].Kind != goodput.Spike {
		return ""
	}
	all := values(group, recovery)
	back := where(all, func(after float64) bool { return !math.IsInf(after, 0) })
	text := spread(back).format("%.1f")
	if never := len(all) - len(back); never > 0 {
		text += fmt.Sprintf(" (%d of %d never)", never, len(all))
	}
	return text
}

// recovery returns the seconds after the burst of a run until its goodput is back, or infinity.
func recovery(r goodput.Run) float64 {
	served := make([]float64, len(r.Report.Series))
	for i, interval := range r.Report.Series {
		served[i] = float64(interval.Good) / float64(max(1, interval.Due))
	}
	return recovered(served, r.Plan.Interval, r.Plan.Load)
}

// recovered returns the seconds after the first burst until nine tenths of the load are served for a second, by what is served of
// the load in each interval.
func recovered(served []float64, interval time.Duration, load arrival.Load) float64 {
	first, need := int((load.Start+load.Burst)/interval), int(time.Second/interval)
	for i := first; i+need <= len(served); i++ {
		if slices.Min(served[i:i+need]) >= 0.9 {
			return (time.Duration(i-first) * interval).Seconds()
		}
	}
	return math.Inf(1)
}

// summaryTable has the lasting overload of the summary.
func summaryTable(r *goodput.Results) table.Writer {
	runs := where(r.Runs, func(run goodput.Run) bool {
		return run.Kind == goodput.Sustained && run.Plan.Load.Base == 2 && run.RejectionCost == 0.1
	})
	return tableOf(runs,
		label("driver", func(r goodput.Run) string { return r.Arm }),
		number("goodput, % of the capacity", "%.0f", func(r goodput.Run) float64 { return 100 * r.Goodput() }),
		number("commands per operation", "%.2f", goodput.Run.CommandsPerOperation),
		number("median latency of what succeeds, ms", "%.0f", func(r goodput.Run) float64 { return inMilliseconds(r.Report.Latency.P50) }),
	)
}

// stormTable has a row for each arm.
func stormTable(r *goodput.Results) table.Writer {
	count := func(name string, of func(goodput.StormRun) int) column[goodput.StormRun] {
		return number(name, "%.0f", func(s goodput.StormRun) float64 { return float64(of(s)) })
	}
	seconds := func(name string, of func(goodput.StormRun) time.Duration) column[goodput.StormRun] {
		return number(name, "%.1f", func(s goodput.StormRun) float64 { return of(s).Seconds() })
	}
	return tableOf(r.Storms,
		label("driver", func(s goodput.StormRun) string { return s.Arm }),
		count("clients connected", func(s goodput.StormRun) int { return s.Report.Connected }),
		seconds("half of them after, s", func(s goodput.StormRun) time.Duration { return s.Report.Latency.P50 }),
		seconds("the last after, s", func(s goodput.StormRun) time.Duration { return s.Report.Last }),
		count("errors", func(s goodput.StormRun) int { return s.Report.Errors }),
		count("clients that saw any", func(s goodput.StormRun) int { return s.Report.Unlucky }),
		count("pools cleared", func(s goodput.StormRun) int { return s.Report.Cleared }),
		column[goodput.StormRun]{name: "with connections", cell: func(group []goodput.StormRun) string {
			if with := group[0].Report.ClearedWithConnections; with != nil {
				return strconv.Itoa(*with)
			}
			return ""
		}},
		count("heartbeats failed", func(s goodput.StormRun) int { return s.Report.Heartbeats }),
		number("processors idle, %", "%.0f", func(s goodput.StormRun) float64 { return 100 * s.Idle }),
	)
}

// met is a group of runs that differ only in their arms.
type met struct {
	kind             string
	cost, capacity   float64
	clients, members int
	limit            int
	load             arrival.Load
	seed             uint64
}

func meets(s goodput.Scenario) met {
	return met{s.Kind, s.RejectionCost, s.Plan.Capacity, s.Plan.Clients, s.Members, s.Limit, s.Plan.Load, s.Plan.Seed}
}
