package report

import (
	"fmt"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"

	"mongofork/bench/internal/goodput"
	"mongofork/bench/internal/openloop"
)

const notMeasured = "not measured"

// stormTable has a row for each arm.
func stormTable(r *goodput.Results) table.Writer {
	t := newTable("driver", "clients connected", "after, ms", "half of them after, ms", "errors",
		"clients that saw any", "pools cleared", "with connections", "heartbeats failed", "processors idle, %")
	for _, s := range r.Storms {
		idle := notMeasured
		if s.Idle > 0 {
			idle = fmt.Sprintf("%.0f", 100*s.Idle)
		}
		t.AppendRow(table.Row{s.Arm, fmt.Sprintf("%d of %d", s.Report.Connected, r.Storm.Clients), milliseconds(s.Report.Last),
			milliseconds(s.Report.Latency.P50), s.Report.Errors, s.Report.Unlucky, s.Report.Cleared, withConnections(s.Report), s.Report.Heartbeats, idle})
	}
	return t
}

// withConnections is how many of the pools that were cleared had connections.
func withConnections(r *openloop.StormReport) string {
	if r.ClearedWithConnections == nil {
		return notMeasured
	}
	return strconv.Itoa(*r.ClearedWithConnections)
}

func (g *goals) storm() {
	for _, s := range g.Storms {
		if s.Arm != goodput.Adaptive {
			continue
		}
		missing, cleared := g.Storm.Clients-s.Report.Connected, s.Report.Cleared
		g.add("connection storm: clients that connect", strconv.Itoa(g.Storm.Clients), strconv.Itoa(s.Report.Connected),
			missing == 0, float64(missing), "%.0f", "The time was too short.")
		g.add("connection storm: pools cleared", "0", strconv.Itoa(cleared), cleared == 0, float64(cleared), "%.0f", whyCleared(s.Report))
		const goalWithConnections = "connection storm: pools with connections cleared"
		if with := s.Report.ClearedWithConnections; with == nil {
			g.all = append(g.all, goal{goalWithConnections, "0", notMeasured, notMeasured, ""})
		} else {
			g.add(goalWithConnections, "0", strconv.Itoa(*with), *with == 0, float64(*with), "%.0f", whyCleared(s.Report))
		}
	}
}

// whyCleared is why pools were cleared, and whether that cost any connection.
func whyCleared(r *openloop.StormReport) string {
	text := fmt.Sprintf("In the connection storm pools were cleared %d times and heartbeats failed %d times. The limiter closes the "+
		"connections of the clients' monitoring, too, and by the specification a heartbeat that fails clears the pool.", r.Cleared, r.Heartbeats)
	if r.ClearedWithConnections == nil {
		return text
	}
	with := *r.ClearedWithConnections
	if with == r.Cleared {
		return text + " Each of them had connections."
	}
	empty := " None of these pools had a connection"
	if with > 0 {
		empty = fmt.Sprintf(" %d of these pools had no connection", r.Cleared-with)
	}
	return text + empty + " that was established: where a pool is ready as soon as the monitoring of its server begins, as upstream's " +
		"is, a first heartbeat that fails clears an empty pool. The specification has it paused until the server is known, and so has the " +
		"fork since that was measured."
}
