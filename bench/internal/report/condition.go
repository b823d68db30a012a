package report

import (
	"fmt"
	"strings"
	"time"

	"mongofork/bench/internal/goodput"
)

// condition is what the runs have in common, and whether they can be trusted.
type condition struct {
	Capacity, Queue int
	Patience        time.Duration
	Verdict         string
}

func conditionOf(r *goodput.Results) condition {
	return condition{Capacity: r.Capacity, Queue: r.Queue, Patience: r.Patience, Verdict: verdict(r)}
}

// The bounds of what shows that not the server but the machine was the limit.
const (
	leastWork = 0.97 // of a server under a lasting overload
	mostLag   = 100 * time.Millisecond
)

// verdict says how many runs the machine has limited.
func verdict(r *goodput.Results) string {
	var limited []string
	highest, idlest, busiest := 0.0, 0.0, 1.0
	for _, run := range r.Runs {
		highest, idlest, busiest = max(highest, run.Used), max(idlest, run.Idle), min(busiest, run.Idle)
		idle := run.Kind == goodput.Sustained && run.Work() < leastWork
		if late := run.Report.Lag.P99 > mostLag; late || idle {
			limited = append(limited, fmt.Sprintf("%s at %v × and %s with %s", run.Kind, max(run.Plan.Load.Base, run.Plan.Load.Peak),
				percent(run.RejectionCost), run.Arm))
		}
	}
	text := fmt.Sprintf("clients and servers of all drivers took at most %s of the processors' time; with whatever else ran on the machine, "+
		"%s to %s were idle. ", percent(highest), percent(busiest), percent(idlest))
	if len(limited) == 0 {
		return text + "All operations but one in a hundred started in time, and the servers in a lasting overload were never idle."
	}
	return text + fmt.Sprintf("In %d of %d runs more than one operation in a hundred started later than %v, or the server was idle for more "+
		"than %s of a lasting overload; read their figures with care: %s.", len(limited), len(r.Runs), mostLag, percent(1-leastWork),
		strings.Join(limited, "; "))
}
