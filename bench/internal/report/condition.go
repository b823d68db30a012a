package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"mongofork/bench/internal/goodput"
	"mongofork/internal/retry"
)

// condition holds what the runs have in common, and whether they can be trusted.
type condition struct {
	*goodput.Results
	Verdict string
	Prefix  string // of the names of plots
}

func conditionOf(r *goodput.Results) condition {
	return condition{Results: r, Verdict: verdict(r), Prefix: MeasuredPlots}
}

// TokenSeconds is how many seconds of the capacity the tokens are that so many clients start with.
func (c condition) TokenSeconds(clients int) float64 {
	return float64(clients) * retry.NewTokenBucket().Tokens() / float64(c.Capacity)
}

// Missing names what was not measured; empty if all was.
func (c condition) Missing() string {
	const tenTimes = 10
	if !c.anySustained(func(r goodput.Run) bool { return r.Plan.Load.Base >= tenTimes }) {
		return "ten times the capacity"
	}
	return ""
}

// Slower tells whether some servers had less than the usual capacity.
func (c condition) Slower() bool {
	return c.anySustained(func(r goodput.Run) bool { return r.Capacity() < float64(c.Capacity) })
}

func (c condition) anySustained(is func(goodput.Run) bool) bool {
	return slices.ContainsFunc(c.Runs, func(r goodput.Run) bool { return r.Kind == goodput.Sustained && is(r) })
}

// The bounds of what shows that not the server but the machine was the limit.
const (
	leastWork = 0.97 // of a server under a lasting overload
	mostLag   = 100 * time.Millisecond
)

// verdict says how many runs the machine has limited.
func verdict(r *goodput.Results) string {
	limited := map[string]int{}
	total, highest, idlest, busiest := 0, 0.0, 0.0, 1.0
	for _, run := range r.Runs {
		highest, idlest, busiest = max(highest, run.Used), max(idlest, run.Idle), min(busiest, run.Idle)
		// Clients that throttle may hold too much back; then it is not the machine that leaves the server idle.
		idle := run.Kind == goodput.Sustained && run.Arm != goodput.Throttling && run.Work() < leastWork
		if late := run.Report.Lag.P99 > mostLag; late || idle {
			limited[run.Kind]++
			total++
		}
	}
	text := fmt.Sprintf("clients and servers of all drivers took at most %s of the processors' time; with whatever else ran on the "+
		"machine, %s to %s were idle. ", percent(highest), percent(busiest), percent(idlest))
	if total == 0 {
		return text + "All operations but one in a hundred started in time, and the servers in a lasting overload were never idle."
	}
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(limited)) {
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, limited[kind]))
	}
	return text + fmt.Sprintf("In %d of %d runs more than one operation in a hundred started later than %v, or the server was idle for "+
		"more than %s of a lasting overload (%s). The columns at the right of the tables tell which; read their figures with care.",
		total, len(r.Runs), mostLag, percent(1-leastWork), strings.Join(kinds, ", "))
}
