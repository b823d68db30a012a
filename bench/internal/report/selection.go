package report

import (
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"mongofork/bench/internal/sim"
	"mongofork/bench/internal/study"
)

// limitedLoad is the load on the server that is limited if all get the same, as a multiple of what it admits.
func limitedLoad(s sim.Scenario) float64 { return s.Load.Base * s.Capacity / s.Limit }

// selectionTable compares the selections where one server of several is overloaded.
func selectionTable(s *study.Study) table.Writer {
	commands := func(r sim.Result) float64 { return r.CommandsPerOperation }
	t := newTable("load on the server", "capacity of each, per s", "clients", "commands per operation, by operations in progress",
		"and rejections", "operations that fail, %")
	type key struct {
		load, capacity float64
		clients        int
	}
	keyOf := func(r sim.Result) key { return key{limitedLoad(r.Scenario), r.Scenario.Capacity, r.Scenario.Clients} }
	seen := map[key]bool{}
	for _, first := range s.Members {
		k := keyOf(first)
		if seen[k] {
			continue
		}
		seen[k] = true
		with := func(selection sim.Selection) []sim.Result {
			return of(s.Members, func(r sim.Result) bool { return keyOf(r) == k && r.Scenario.Selection == selection })
		}
		inProgress, rejections := with(sim.TwoChoices), with(sim.WithRejections)
		t.AppendRow(table.Row{fmt.Sprintf("%.2f", k.load), k.capacity, k.clients, spread(inProgress, commands, "%.3f"),
			spread(rejections, commands, "%.3f"), spread(append(inProgress, rejections...), func(r sim.Result) float64 { return 100 * r.Errors }, "%.1f")})
	}
	return t
}

// togetherTable compares the selections when bursts overload the other servers as well.
func togetherTable(s *study.Study) table.Writer {
	t := newTable("rejection cost of the others", "policy", "at random", "by operations in progress", "and rejections")
	for _, cost := range costs(s.Together) {
		for _, policy := range policies(s.Together) {
			row := table.Row{percent(cost), policy}
			for _, r := range s.Together {
				if r.Scenario.RejectionCost == cost && r.Scenario.Policy == policy {
					row = append(row, fmt.Sprintf("%.1f %%, %.1f %%, %.2f", 100*r.Errors, 100*r.Goodput, r.CommandsPerOperation))
				}
			}
			t.AppendRow(row)
		}
	}
	return t
}

// returnTable has the share of the commands that a server gets about the end of its overload.
func returnTable(s *study.Study) table.Writer {
	t := newTable("load on the server", "selection by", "last second before, %", "100 ms after, %", "200 ms", "300 ms", "400 ms", "500 ms", "1 s", "2 s")
	for _, r := range s.Return {
		t.AppendRow(append(table.Row{fmt.Sprintf("%.2f", limitedLoad(r.Scenario)), r.Scenario.Selection}, returns(r)...))
	}
	return t
}

// returns are the cells of a row: the mean of the last second of the overload, then of the tenths of a second that end so
// much later.
func returns(r sim.Result) table.Row {
	interval := r.Scenario.Interval
	end := int(r.Scenario.LimitedFor / interval)
	share := func(from, to int) string {
		if from < 0 || to > len(r.FirstServer) || from >= to {
			return "-"
		}
		var sum float64
		for _, one := range r.FirstServer[from:to] {
			sum += one
		}
		return fmt.Sprintf("%.1f", 100*sum/float64(to-from))
	}
	row := table.Row{share(end-int(time.Second/interval), end)}
	for _, tenths := range []int{1, 2, 3, 4, 5, 10, 20} {
		i := end + tenths*int(time.Second/10/interval)
		row = append(row, share(i-1, i))
	}
	return row
}
