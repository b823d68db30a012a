package report

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"mongofork/bench/internal/sim"
	"mongofork/bench/internal/study"
)

// simTable has a row for each group of simulations that differ only in their seeds, and more columns.
func simTable(results []sim.Result, more ...column[sim.Result]) table.Writer {
	columns := append([]column[sim.Result]{
		label("rejection cost", func(r sim.Result) string { return percent(r.Scenario.RejectionCost) }),
		label("load", func(r sim.Result) string { return fmt.Sprintf("%v", r.Scenario.Load.Base) }),
		label("load on the server", func(r sim.Result) string {
			if r.Scenario.Limit == 0 {
				return ""
			}
			return fmt.Sprintf("%.2f", r.Scenario.Load.Base*r.Scenario.Capacity/r.Scenario.Limit)
		}),
		label("servers", func(r sim.Result) string { return strconv.Itoa(r.Scenario.Servers) }),
		label("capacity of each", func(r sim.Result) string { return fmt.Sprintf("%v", r.Scenario.Capacity) }),
		label("policy", func(r sim.Result) string { return string(r.Scenario.Policy) }),
		label("clients", func(r sim.Result) string { return strconv.Itoa(r.Scenario.Clients) }),
		label("selection by", func(r sim.Result) string { return string(r.Scenario.Selection) }),
		label("seconds", func(r sim.Result) string { return fmt.Sprintf("%v", r.Scenario.Duration.Seconds()) }),
		number("goodput, %", "%.1f", func(r sim.Result) float64 { return 100 * r.Goodput }),
		number("errors, %", "%.1f", func(r sim.Result) float64 { return 100 * r.Errors }),
		number("commands per operation", "%.3f", func(r sim.Result) float64 { return r.CommandsPerOperation }),
		{name: "tokens spent after, s", cell: func(group []sim.Result) string {
			if spent := group[0].Drained; spent > 0 {
				return fmt.Sprintf("%.1f", spent.Seconds())
			}
			return ""
		}},
	}, more...)
	return tableOf(results, columns...)
}

// loadTable has the goodput with each policy over the load.
func loadTable(s *study.Study) table.Writer {
	columns := []column[sim.Result]{
		label("rejection cost", func(r sim.Result) string { return percent(r.Scenario.RejectionCost) }),
		label("load", func(r sim.Result) string { return fmt.Sprintf("%v", r.Scenario.Load.Base) }),
	}
	for _, policy := range []sim.Policy{sim.NoRetry, sim.TwoRetries, sim.FiveRetries, sim.DrainedBucket} {
		columns = append(columns, column[sim.Result]{name: string(policy), cell: func(group []sim.Result) string {
			runs := where(group, func(r sim.Result) bool { return r.Scenario.Policy == policy })
			return spread(values(runs, func(r sim.Result) float64 { return 100 * r.Goodput })).format("%.1f")
		}})
	}
	return tableOf(s.Load, columns...)
}

// simSpikeTable has the errors of a spike and the time to recover from it.
func simSpikeTable(s *study.Study) table.Writer {
	return simTable(s.Spike, number("recovered after, s", "%.2f", func(r sim.Result) float64 {
		served := make([]float64, len(r.Series))
		for i, goodput := range r.Series {
			served[i] = goodput / r.Scenario.Load.Base
		}
		return recovered(served, r.Scenario.Interval, r.Scenario.Load)
	}))
}

// returnTable has a server's share of the commands around the end of its overload: the mean of the last second, then the tenths
// of a second that end so much later.
func returnTable(s *study.Study) table.Writer {
	share := func(name string, from, to time.Duration) column[sim.Result] {
		return number(name, "%.1f", func(r sim.Result) float64 {
			first, last := int((r.Scenario.LimitedFor+from)/r.Scenario.Interval), int((r.Scenario.LimitedFor+to)/r.Scenario.Interval)
			if first < 0 || last > len(r.FirstServer) {
				return math.NaN()
			}
			var sum float64
			for _, one := range r.FirstServer[first:last] {
				sum += one
			}
			return 100 * sum / float64(last-first)
		})
	}
	columns := []column[sim.Result]{
		label("load on the server", func(r sim.Result) string {
			return fmt.Sprintf("%.2f", r.Scenario.Load.Base*r.Scenario.Capacity/r.Scenario.Limit)
		}),
		label("selection by", func(r sim.Result) string { return string(r.Scenario.Selection) }),
		share("last second before, %", -time.Second, 0),
	}
	for _, tenths := range []time.Duration{1, 2, 3, 4, 5, 10, 20} {
		to := tenths * time.Second / 10
		columns = append(columns, share(fmt.Sprintf("%v after, %%", to), to-time.Second/10, to))
	}
	return tableOf(s.Return, columns...)
}
