package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"mongofork/bench/internal/sim"
	"mongofork/bench/internal/study"
	"mongofork/internal/retry"
)

// checkTable has the simulations that can be held against measurements: medians over the seeds, with their range.
func checkTable(s *study.Study) table.Writer {
	t := newTable("policy", "goodput, % of the capacity", "commands per operation")
	for _, policy := range policies(s.Check) {
		runs := of(s.Check, func(r sim.Result) bool { return r.Scenario.Policy == policy })
		t.AppendRow(table.Row{policy,
			spread(runs, func(r sim.Result) float64 { return 100 * r.Goodput }, "%.1f"),
			spread(runs, func(r sim.Result) float64 { return r.CommandsPerOperation }, "%.2f")})
	}
	return t
}

// goalTable has the bucket's goodput as a share of that without retries, against the goals: the median of the ratios under
// each seed, with their range.
func goalTable(s *study.Study) table.Writer {
	t := newTable("rejection cost", "load", "no retry, goodput, %", "bucket, goodput, %", "bucket / no retry", "goal", "met")
	var cost, load float64
	for _, first := range s.Goals {
		if first.Scenario.RejectionCost == cost && first.Scenario.Load.Base == load {
			continue
		}
		cost, load = first.Scenario.RejectionCost, first.Scenario.Load.Base
		without, bucket := goodputs(s.Goals, sim.NoRetry, cost, load), goodputs(s.Goals, sim.DrainedBucket, cost, load)
		t.AppendRow(append(table.Row{percent(cost), load, rangeOf(without, "%.1f"), rangeOf(bucket, "%.1f")},
			againstGoal(without, bucket, cost)...))
	}
	return t
}

// againstGoal returns the cells of the ratios, the goal, and whether it is met.
func againstGoal(without, bucket []float64, cost float64) table.Row {
	const leastPercent = 1
	if median(without) < leastPercent {
		return table.Row{"-", "-", "the overload alone takes all of the capacity"}
	}
	ratios := make([]float64, len(bucket))
	for i := range bucket {
		ratios[i] = bucket[i] / without[i]
	}
	goal := goodputGoal(cost)
	return table.Row{rangeOf(ratios, "%.3f"), fmt.Sprintf("%.2f", goal), met(median(ratios) >= goal, median(ratios)-goal, "%.3f")}
}

// goodputs returns the goodput in percent under each seed.
func goodputs(results []sim.Result, policy sim.Policy, cost, load float64) []float64 {
	var all []float64
	for _, r := range results {
		if r.Scenario.Policy == policy && r.Scenario.RejectionCost == cost && r.Scenario.Load.Base == load {
			all = append(all, 100*r.Goodput)
		}
	}
	return all
}

// burstTable has the share of errors in short bursts.
func burstTable(s *study.Study) table.Writer {
	t := newTable("policy", "clients", "errors, %", "commands per operation")
	for _, policy := range policies(s.Bursts) {
		for _, clients := range []int{1, 10, 100} {
			runs := of(s.Bursts, func(r sim.Result) bool {
				return r.Scenario.Policy == policy && r.Scenario.Clients == clients
			})
			if clients > 1 && policy != sim.FullBucket {
				continue // without a bucket the number of clients makes no difference
			}
			t.AppendRow(table.Row{policy, clients,
				spread(runs, func(r sim.Result) float64 { return 100 * r.Errors }, "%.1f"),
				spread(runs, func(r sim.Result) float64 { return r.CommandsPerOperation }, "%.2f")})
		}
	}
	return t
}

// fleetTable has what the tokens of many clients do.
func fleetTable(s *study.Study) table.Writer {
	t := newTable("policy", "clients", "first seconds", "goodput, %", "commands per operation", "tokens spent after", "at the earliest")
	for _, r := range s.Fleet {
		drained, earliest := "-", "-"
		if r.Drained > 0 {
			drained = r.Drained.Round(time.Second / 10).String()
		} else if r.Scenario.Policy == sim.FullBucket {
			drained = "not yet"
		}
		if r.Scenario.Policy == sim.FullBucket {
			earliest = soonestSpent(r.Scenario).Round(time.Second / 10).String()
		}
		t.AppendRow(table.Row{r.Scenario.Policy, r.Scenario.Clients, r.Scenario.Duration.Seconds(),
			fmt.Sprintf("%.1f", 100*r.Goodput), fmt.Sprintf("%.2f", r.CommandsPerOperation), drained, earliest})
	}
	return t
}

// soonestSpent returns how long the tokens of all clients last if every operation takes as many as it can.
func soonestSpent(s sim.Scenario) time.Duration {
	tokens := float64(s.Clients) * retry.NewTokenBucket().Tokens()
	perSecond := s.Load.Base * s.Capacity * float64(s.Servers) * sim.SpecifiedRetries
	return time.Duration(tokens / perSecond * float64(time.Second))
}

// serverTable has the goodput of several servers.
func serverTable(s *study.Study) table.Writer {
	header := []any{"servers"}
	all := policies(s.Servers)
	for _, policy := range all {
		header = append(header, string(policy))
	}
	t := newTable(header...)
	for i := 0; i+len(all) <= len(s.Servers); i += len(all) {
		row := table.Row{s.Servers[i].Scenario.Servers}
		for _, r := range s.Servers[i : i+len(all)] {
			row = append(row, fmt.Sprintf("%.1f %%, %.2f", 100*r.Goodput, r.CommandsPerOperation))
		}
		t.AppendRow(row)
	}
	return t
}

// spikeTable has the errors of a spike and the time to recover from it.
func spikeTable(s *study.Study) table.Writer {
	t := newTable("policy", "errors, %", "recovered after")
	for _, r := range s.Spike {
		t.AppendRow(table.Row{r.Scenario.Policy, fmt.Sprintf("%.1f", 100*r.Errors), recovery(r)})
	}
	return t
}

// recovery returns how long after a spike the goodput is back.
func recovery(r sim.Result) string {
	served := make([]float64, len(r.Series))
	for i, goodput := range r.Series {
		served[i] = goodput / r.Scenario.Load.Base
	}
	after, ok := recovered(served, r.Scenario.Interval, r.Scenario.Load)
	if !ok {
		return "not in " + (r.Scenario.Duration - r.Scenario.Load.Start - r.Scenario.Load.Burst).String()
	}
	return after.String()
}

// policies returns the policies of results, in the order in which they appear first.
func policies(results []sim.Result) []sim.Policy {
	var all []sim.Policy
	for _, r := range results {
		if !slices.Contains(all, r.Scenario.Policy) {
			all = append(all, r.Scenario.Policy)
		}
	}
	return all
}

// of returns the results that are wanted.
func of(results []sim.Result, want func(sim.Result) bool) []sim.Result {
	var some []sim.Result
	for _, r := range results {
		if want(r) {
			some = append(some, r)
		}
	}
	return some
}

// spread formats the median of a figure and its range.
func spread(results []sim.Result, figure func(sim.Result) float64, format string) string {
	values := make([]float64, len(results))
	for i, r := range results {
		values[i] = figure(r)
	}
	return rangeOf(values, format)
}
