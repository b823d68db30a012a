package report

import (
	"fmt"
	"strconv"
	"time"

	"mongofork/bench/internal/goodput"
)

// figure is a column of a table of runs.
type figure struct {
	name string
	of   func(goodput.Run) string
}

// loadColumn and the functions after it are columns of tables of runs.
func loadColumn() figure {
	return figure{"load", func(r goodput.Run) string { return fmt.Sprintf("%v", max(r.Plan.Load.Base, r.Plan.Load.Peak)) }}
}

func costColumn() figure {
	return figure{"rejection cost", func(r goodput.Run) string { return percent(r.RejectionCost) }}
}

func clientsColumn() figure {
	return figure{"clients", func(r goodput.Run) string { return strconv.Itoa(r.Plan.Clients) }}
}

func memberColumn() figure {
	return figure{"load on the member", func(r goodput.Run) string { return fmt.Sprintf("%.2f", r.MemberLoad()) }}
}

func fairnessColumn() figure {
	return figure{"fairness", func(r goodput.Run) string { return fmt.Sprintf("%.3f", r.Fairness()) }}
}

func recoveryColumn() figure {
	return figure{"recovered after", func(r goodput.Run) string {
		after, ok := runRecovery(r)
		if !ok {
			return "not in " + (r.Plan.Duration - r.Plan.Load.Start - r.Plan.Load.Burst).String()
		}
		return after.String()
	}}
}

// outcomeColumns say what the application saw.
func outcomeColumns() []figure {
	return []figure{
		{"driver", func(r goodput.Run) string { return r.Arm }},
		{"goodput, %", func(r goodput.Run) string { return fmt.Sprintf("%.1f", 100*r.Goodput()) }},
		{"commands per operation", func(r goodput.Run) string { return fmt.Sprintf("%.2f", r.CommandsPerOperation()) }},
		{"errors, %", func(r goodput.Run) string { return fmt.Sprintf("%.1f", 100*r.Errors()) }},
		{"p50, ms", func(r goodput.Run) string { return milliseconds(r.Report.Latency.P50) }},
		{"p99, ms", func(r goodput.Run) string { return milliseconds(r.Report.Latency.P99) }},
		{"p99.9, ms", func(r goodput.Run) string { return milliseconds(r.Report.Latency.P999) }},
	}
}

func lateColumn() figure {
	return figure{"started late, p99, ms", func(r goodput.Run) string { return milliseconds(r.Report.Lag.P99) }}
}

// trustColumns tell whether a run can be trusted.
func trustColumns() []figure {
	return []figure{
		{"given up, %", func(r goodput.Run) string { return fmt.Sprintf("%.0f", 100*r.GivenUp()) }},
		lateColumn(),
		{"server's work, %", func(r goodput.Run) string { return fmt.Sprintf("%.0f", 100*r.Work()) }},
		{"processors used, %", func(r goodput.Run) string { return fmt.Sprintf("%.0f", 100*r.Used) }},
		{"processors idle, %", func(r goodput.Run) string { return fmt.Sprintf("%.0f", 100*r.Idle) }},
	}
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.0f", d.Seconds()*1000) }
