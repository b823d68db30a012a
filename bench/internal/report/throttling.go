package report

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"

	"mongofork/bench/internal/goodput"
	"mongofork/bench/internal/sim"
	"mongofork/bench/internal/study"
)

// Figures of a simulation.
func trialGoodput(t study.Trial) float64  { return 100 * t.Goodput }
func trialErrors(t study.Trial) float64   { return 100 * t.Errors }
func trialSuccess(t study.Trial) float64  { return 100 * (1 - t.Errors) }
func trialCommands(t study.Trial) float64 { return t.Commands }
func trialFairness(t study.Trial) float64 { return t.Fairness }
func trialRecovery(t study.Trial) float64 { return t.Recovery.Seconds() }
func trialP50(t study.Trial) float64      { return inMilliseconds(t.Median) }
func trialP99(t study.Trial) float64      { return inMilliseconds(t.P99) }
func trialOwn(t study.Trial) float64      { return 100 * t.Own }
func trialOthers(t study.Trial) float64   { return 100 * t.Neighbours }

// throttlingGoals are those of adaptiveThrottling.
func throttlingGoals(e evidence) []goal {
	goodputs := func(load, cost, bound float64) figure {
		return e.find(times(load), bound, lasting(goodput.Throttling, load, cost), inPercent).with(e, study.Sustained(load, cost), trialGoodput)
	}
	// The measurement has ten times the capacity only if a rejection costs 2 %.
	commands := func(load, cost, bound float64) figure {
		return e.find(times(load), bound, lasting(goodput.Throttling, load, cost), goodput.Run.CommandsPerOperation).
			with(e, study.Sustained(load, 0.1), trialCommands)
	}
	latency := func(name string, bound float64, of func(goodput.Run) float64, simulated func(study.Trial) float64) figure {
		return e.ofNoRetry(name, bound, lasting(goodput.Throttling, 2, 0.1), of).against(e, sim.NoRetry, study.Sustained(2, 0.1), simulated)
	}
	flap := during(goodput.Flap, goodput.Throttling)
	belowFull := during(goodput.Control, goodput.Throttling).and(func(r goodput.Run) bool { return r.Plan.Load.Base == 0.95 })
	goals := []goal{
		{"goodput, % of the capacity, a rejection costs 10 %", true, "%.1f",
			[]figure{goodputs(1.1, 0.1, 95), goodputs(1.5, 0.1, 95), goodputs(2, 0.1, 95), goodputs(4, 0.1, 90)}},
		{"the same, 2 %", true, "%.1f", []figure{goodputs(10, 0.02, 95)}},
		{"the same, 50 %", true, "%.1f", []figure{goodputs(2, 0.5, 78)}},
		{"commands per operation", false, "%.2f", []figure{commands(2, 0.1, 0.70), commands(4, 0.1, 0.48), commands(10, 0.02, 0.36)}},
		{"goodput from the first second on, 2 ×, % of the capacity", true, "%.1f", e.newcomers(93, inPercent, trialGoodput)},
		{"fairness in it", true, "%.2f", e.newcomers(0.9, goodput.Run.Fairness, trialFairness)},
	}
	goals = append(goals, e.brief()...)
	goals = append(goals,
		goal{"errors under a load that flaps, of those without retries", false, "%.2f", []figure{
			e.ofNoRetry("", 1, flap, goodput.Run.Errors).against(e, sim.NoRetry, study.Flap, trialErrors)}},
		goal{"goodput in it, of that without retries", true, "%.2f", []figure{
			e.ofNoRetry("", 1, flap, goodput.Run.Goodput).against(e, sim.NoRetry, study.Flap, trialGoodput)}},
		goal{"latency of what succeeds, 2 ×, of that without retries", false, "%.1f",
			[]figure{latency("median", 2, p50, trialP50), latency("99th percentile", 8, p99, trialP99)}},
		goal{"errors at 95 % of the capacity, of those without retries", false, "%.2f", []figure{
			e.ofNoRetry("", 1, belowFull, goodput.Run.Errors).against(e, sim.NoRetry, study.BelowFull, trialErrors)}},
		goal{"commands per operation in it", false, "%.2f", []figure{
			e.find("", 1.15, belowFull, goodput.Run.CommandsPerOperation).with(e, study.BelowFull, trialCommands)}})
	goals = append(goals, e.mixed()...)
	goals = append(goals, e.members(goodput.Throttling, 99.9, 1.03)...)
	return append(goals,
		e.storm(goodput.Throttling, "seconds later than the faster of upstream's", "%.1f", 0,
			afterFastest(e.storms, goodput.NoRetry, goodput.TwoRetries)),
		evidence{storms: e.peers}.storm(goodput.Throttling, "seconds later than the fastest of upstream's, PyMongo and Node's", "%.1f", 0,
			afterFastest(e.peers, goodput.NoRetry, goodput.PyMongo, goodput.NodeDriver)),
		e.storm(goodput.Throttling, "pools cleared", "%.0f", 0, cleared),
		e.storm(goodput.Throttling, "errors", "%.0f", 20, func(s goodput.StormRun) float64 { return float64(s.Report.Errors) }))
}

// newcomers are the figures of new clients.
func (e evidence) newcomers(bound float64, of func(goodput.Run) float64, simulated func(study.Trial) float64) []figure {
	runs := during(goodput.Clients, goodput.Throttling)
	all := each(func(clients int) figure {
		return e.find(count(clients), bound, runs.and(shared(clients, goodput.Capacity)), of).with(e, study.FromStart(clients), simulated)
	}, 1, 10, 100)
	return append(all, e.find("100 clients of a server five times as fast", bound, runs.and(shared(100, 5*goodput.Capacity)), of).
		with(e, study.FromStartFast(100), simulated))
}

// brief is the goals of bursts and spikes.
func (e evidence) brief() []goal {
	runs := func(kind string, clients int) want {
		return during(kind, goodput.Throttling).and(shared(clients, goodput.Capacity))
	}
	bursts := func(clients int) figure {
		return e.ofNoRetry(count(clients), 0.15, runs(goodput.Bursts, clients), goodput.Run.Errors).
			against(e, sim.NoRetry, study.Bursts(clients), trialErrors)
	}
	spike := func(clients int) figure {
		return e.ofNoRetry(count(clients), 0.9, runs(goodput.Spike, clients), goodput.Run.Errors).
			against(e, sim.NoRetry, study.Spike(clients), trialErrors)
	}
	after := func(clients int) figure {
		return e.find(count(clients), 1, runs(goodput.Spike, clients), recovery).with(e, study.Spike(clients), trialRecovery)
	}
	return []goal{
		{"errors in short bursts, of those without retries", false, "%.2f", each(bursts, 1, 10, 100)},
		{"errors in a long spike, of those without retries", false, "%.2f", each(spike, 1, 10, 100)},
		{"seconds after it until all succeed (measured: nine tenths)", false, "%.1f", each(after, 1, 10, 100)},
	}
}

func count(clients int) string {
	if clients == 1 {
		return "1 client"
	}
	return fmt.Sprintf("%d clients", clients)
}

// mixed is the goals of fleets of which one half throttles.
func (e evidence) mixed() []goal {
	goals := []goal{
		{"goodput if every other client throttles, 2 ×, of that if it retries five times", true, "%.2f", nil},
		{"own success in it, of the neighbours'", true, "%.2f", nil},
	}
	for _, n := range []struct {
		arm    string
		policy sim.Policy
	}{{goodput.NoRetry, sim.NoRetry}, {goodput.TwoRetries, sim.TwoRetries}, {goodput.Fork, sim.FiveRetries}} {
		halves := func(of func(goodput.Run) float64, beside string, r goodput.Run) float64 {
			return e.mean(of, n.arm, beside, r.Round()) + e.mean(of, beside, n.arm, r.Round())
		}
		throttles := during(goodput.Mixed, goodput.Throttling).and(func(r goodput.Run) bool { return r.Beside == n.arm })
		whole := e.find("beside "+n.arm, 1, throttles, func(r goodput.Run) float64 {
			return halves(goodput.Run.Goodput, goodput.Throttling, r) / halves(goodput.Run.Goodput, goodput.Fork, r)
		})
		goals[0].cases = append(goals[0].cases, whole.against(e, sim.FiveRetries, study.Beside(n.policy), trialGoodput))
		if n.arm == goodput.NoRetry {
			own := e.find("beside "+n.arm, 0.5, throttles, func(r goodput.Run) float64 {
				return succeeded(r) / e.mean(succeeded, n.arm, goodput.Throttling, r.Round())
			})
			own.simulated = e.trial(study.Beside(n.policy), sim.Throttling, trialOwn) / e.trial(study.Beside(n.policy), sim.Throttling, trialOthers)
			goals[1].cases = append(goals[1].cases, own)
		}
	}
	return goals
}

// mean returns the mean of a figure of the runs of an arm beside another in one round.
func (e evidence) mean(of func(goodput.Run) float64, arm, beside string, round uint64) float64 {
	runs := where(e.runs, during(goodput.Mixed, arm).and(func(r goodput.Run) bool {
		return r.Beside == beside && r.Round() == round
	}))
	var sum float64
	for _, r := range runs {
		sum += of(r)
	}
	return sum / float64(len(runs))
}

// trialTable has all simulations of the goals.
func trialTable(s *study.Throttling) table.Writer {
	return tableOf(s.Goals,
		label("case", func(t study.Trial) string { return t.Case }),
		label("every client, or every other", func(t study.Trial) string { return t.Arm }),
		number("goodput, %", "%.1f", trialGoodput), number("commands per operation", "%.2f", trialCommands),
		number("errors, %", "%.1f", trialErrors), known("p50, ms", "%.0f", trialP50), known("p99, ms", "%.0f", trialP99),
		number("fairness", "%.2f", trialFairness),
		known("last error after, s", "%.1f", trialRecovery), known("own success, %", "%.0f", trialOwn),
		known("success of the others, %", "%.0f", trialOthers),
	)
}

// known is a number that is omitted if it is zero.
func known(name, format string, of func(study.Trial) float64) column[study.Trial] {
	return column[study.Trial]{name: name, cell: func(group []study.Trial) string {
		if v := of(group[0]); v != 0 {
			return fmt.Sprintf(format, v)
		}
		return ""
	}}
}

// variantTable has the variants.
func variantTable(s *study.Throttling) table.Writer {
	without := evidence{simulated: s}
	cell := func(name, format, trial string, of func(study.Trial) float64) column[study.Trial] {
		return column[study.Trial]{name: name, cell: func(group []study.Trial) string {
			for _, t := range group {
				if t.Case == trial {
					return measure{of(t), of(t), of(t)}.format(format)
				}
			}
			return ""
		}}
	}
	errors := func(name, trial string) column[study.Trial] {
		return cell(name, "%.2f", trial, func(t study.Trial) float64 { return trialErrors(t) / without.trial(trial, sim.NoRetry, trialErrors) })
	}
	twice, new100, beside := study.Sustained(2, 0.1), study.FromStart(100), study.Beside(sim.NoRetry)
	return tableOf(s.Variants,
		label("variant", func(t study.Trial) string { return t.Arm }),
		cell("2 ×", "%.1f", twice, trialGoodput), cell("4 ×", "%.1f", study.Sustained(4, 0.1), trialGoodput),
		cell("2 ×, 50 %", "%.1f", study.Sustained(2, 0.5), trialGoodput), cell("commands, 2 ×", "%.2f", twice, trialCommands),
		cell("p99, 2 ×, s", "%.1f", twice, func(t study.Trial) float64 { return t.P99.Seconds() }),
		cell("100 new clients", "%.1f", new100, trialGoodput), cell("their fairness", "%.2f", new100, trialFairness),
		errors("errors in bursts, 10 clients", study.Bursts(10)), errors("100 clients", study.Bursts(100)),
		errors("errors in a spike", study.Spike(10)), cell("recovery, s", "%.1f", study.Spike(10), trialRecovery),
		errors("errors at 95 %", study.BelowFull), cell("own success beside no retry, %", "%.0f", beside, trialOwn),
		cell("the others'", "%.0f", beside, trialOthers), cell("commands, one of three at 2 ×", "%.3f", study.Member(2), trialCommands),
	)
}
