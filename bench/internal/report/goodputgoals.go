package report

import (
	"fmt"
	"math"
	"slices"

	"mongofork/bench/internal/goodput"
	"mongofork/bench/internal/result"
	"mongofork/bench/internal/sim"
	"mongofork/bench/internal/study"
)

func notSimulated() float64 { return math.NaN() }

// evidence is what there is for the goals of an arm; all of it may be nil.
type evidence struct {
	runs          []goodput.Run
	storms, peers []goodput.StormRun // peers are those beside drivers of other languages
	simulated     *study.Throttling
}

// want picks the runs of a case.
type want func(goodput.Run) bool

// lasting picks the runs with an arm under a lasting overload.
func lasting(arm string, load, cost float64) want {
	return func(r goodput.Run) bool {
		return r.Kind == goodput.Sustained && r.Arm == arm && r.Plan.Load.Base == load && r.RejectionCost == cost
	}
}

// during picks the runs of a kind of scenario with an arm.
func during(kind, arm string) want {
	return func(r goodput.Run) bool { return r.Kind == kind && r.Arm == arm }
}

// and picks those of them for which another condition holds, too.
func (w want) and(is want) want {
	return func(r goodput.Run) bool { return w(r) && is(r) }
}

// shared picks runs with so many clients on servers of a capacity.
func shared(clients int, capacity float64) want {
	return func(r goodput.Run) bool { return r.Plan.Clients == clients && r.Capacity() == capacity }
}

// overloaded picks runs in which a member's load is that multiple of what it admits.
func overloaded(load float64) want {
	return func(r goodput.Run) bool { return math.Abs(r.MemberLoad()-load) < 0.01 }
}

// mostLag is the largest delay with which one operation in a hundred may begin. Beyond it the machine was the limit, not the
// server.
const mostLag = 100 // milliseconds

// find returns the measurements of the wanted runs. The load at the start does not decide whether the machine was busy: each run
// says how late its operations began.
func (e evidence) find(name string, bound float64, wanted want, of func(goodput.Run) float64) figure {
	return e.judge(name, bound, wanted, of, lag)
}

// ofNoRetry is find for the ratio to the driver that does not retry.
func (e evidence) ofNoRetry(name string, bound float64, wanted want, of func(goodput.Run) float64) figure {
	return e.judge(name, bound, wanted, e.against(of, ratio), e.against(lag, math.Max))
}

func (e evidence) judge(name string, bound float64, wanted want, of, late func(goodput.Run) float64) figure {
	f := figure{name: name, bound: bound, simulated: notSimulated()}
	runs := where(e.runs, wanted)
	if len(runs) == 0 {
		return f
	}
	all := spread(values(runs, of))
	f.measured = &all
	if spread(values(runs, late)).Median > mostLag {
		f.doubt = "operations began late"
	}
	return f
}

// against returns a function that compares a figure of a run with that of the driver which does not retry, at the same time; NaN
// if there is none.
func (e evidence) against(of func(goodput.Run) float64, compare func(own, without float64) float64) func(goodput.Run) float64 {
	return func(run goodput.Run) float64 {
		for _, other := range e.runs {
			if other.Arm == goodput.NoRetry && meets(other.Scenario) == meets(run.Scenario) {
				return compare(of(run), of(other))
			}
		}
		return math.NaN()
	}
}

func ratio(own, without float64) float64 { return own / without }

func difference(own, without float64) float64 { return own - without }

func lag(r goodput.Run) float64 { return inMilliseconds(r.Report.Lag.P99) }

func p50(r goodput.Run) float64 { return inMilliseconds(r.Report.Latency.P50) }

func p99(r goodput.Run) float64 { return inMilliseconds(r.Report.Latency.P99) }

func succeeded(r goodput.Run) float64 { return 100 * (1 - r.Errors()) }

func inPercent(r goodput.Run) float64 { return 100 * r.Goodput() }

// trial returns a figure of the simulation of a case with a policy; NaN if there is none.
func (e evidence) trial(name string, arm sim.Policy, of func(study.Trial) float64) float64 {
	if e.simulated != nil {
		for _, t := range e.simulated.Goals {
			if t.Case == name && t.Arm == string(arm) {
				return of(t)
			}
		}
	}
	return math.NaN()
}

// with adds the simulation of a case, and against that of its ratio to another policy.
func (f figure) with(e evidence, name string, of func(study.Trial) float64) figure {
	f.simulated = e.trial(name, sim.Throttling, of)
	return f
}

func (f figure) against(e evidence, other sim.Policy, name string, of func(study.Trial) float64) figure {
	f.simulated = e.trial(name, sim.Throttling, of) / e.trial(name, other, of)
	return f
}

// tokenGoals are those of adaptiveRetries.
func tokenGoals(f *result.File[*goodput.Results]) []goal {
	e := evidence{runs: f.Results.Runs, storms: f.Results.Storms}
	kept := func(cost, bound float64) func(float64) figure {
		return func(load float64) figure {
			return e.ofNoRetry(times(load), bound, lasting(goodput.Drained, load, cost), goodput.Run.Goodput)
		}
	}
	sent := func(load, bound float64) figure {
		return e.find(times(load), bound, lasting(goodput.Drained, load, 0.1), goodput.Run.CommandsPerOperation)
	}
	fresh := func(kind string, bound float64) []figure {
		return []figure{
			e.ofNoRetry("10 clients", bound, during(kind, goodput.Adaptive), goodput.Run.Errors),
			e.ofNoRetry("1 client", bound, during(kind, goodput.Single), goodput.Run.Errors),
		}
	}
	later := func(name, arm string) figure {
		return e.judge(name, 0.5, during(goodput.Spike, arm), e.against(recovery, difference), e.against(lag, math.Max))
	}
	goals := []goal{
		{"commands per operation, tokens spent", false, "%.2f", []figure{sent(2, 1.15), sent(4, 1.05)}},
		{"goodput of that without retries, tokens spent, a rejection costs 10 %", true, "%.2f", each(kept(0.1, 0.95), 1.1, 1.5, 2, 4)},
		{"the same, 50 %", true, "%.2f", each(kept(0.5, 0.85), 1.1, 1.5, 2)},
		{"errors in short bursts, of those without retries", false, "%.2f", fresh(goodput.Bursts, 0.25)},
		{"errors in a long spike, of those without retries", false, "%.2f", fresh(goodput.Spike, 1.15)},
		{"recovery after it, seconds later than without retries", false, "%.1f", []figure{
			later("10 clients", goodput.Adaptive), later("1 client", goodput.Single)}},
	}
	goals = append(goals, e.members(goodput.Adaptive, 99, 1.1)...)
	return append(goals,
		e.storm(goodput.Adaptive, "clients that do not connect", "%.0f", 0, func(s goodput.StormRun) float64 {
			return float64(f.Results.Storm.Clients - s.Report.Connected)
		}),
		e.storm(goodput.Adaptive, "pools cleared", "%.0f", 0, cleared),
		e.storm(goodput.Adaptive, "pools with connections cleared", "%.0f", 0, func(s goodput.StormRun) float64 {
			if s.Report.ClearedWithConnections == nil {
				return math.NaN()
			}
			return float64(*s.Report.ClearedWithConnections)
		}))
}

func cleared(s goodput.StormRun) float64 { return float64(s.Report.Cleared) }

func times(load float64) string { return fmt.Sprintf("%v ×", load) }

// each returns the figures of several cases.
func each[T any](of func(T) figure, cases ...T) []figure {
	all := make([]figure, len(cases))
	for i, one := range cases {
		all[i] = of(one)
	}
	return all
}

// members are the goals of an arm where one of three members is overloaded.
func (e evidence) members(arm string, success, commands float64) []goal {
	runs := func(load float64) want { return during(goodput.Member, arm).and(overloaded(load)) }
	reads := func(load float64) figure {
		return e.find(times(load), success, runs(load), succeeded).with(e, study.Member(load), trialSuccess)
	}
	sent := func(load float64) figure {
		return e.find(times(load), commands, runs(load), goodput.Run.CommandsPerOperation).with(e, study.Member(load), trialCommands)
	}
	return []goal{
		{"one of three members gets so much of what it admits, reads that succeed, %", true, "%.2f", each(reads, 1.25, 2, 4)},
		{"the same, commands per operation", false, "%.3f", each(sent, 1.25, 2, 4)},
	}
}

// leastIdle is the share of the processors' time that has to remain in a storm.
const leastIdle = 0.05

// storm is a goal of an arm in a connection storm.
func (e evidence) storm(arm, what, format string, bound float64, of func(goodput.StormRun) float64) goal {
	f := figure{bound: bound, simulated: notSimulated()}
	for _, s := range stormsOf(e.storms, arm) {
		v := of(s)
		if f.measured = &(measure{v, v, v}); s.Idle < leastIdle {
			f.doubt = "the processors were never idle"
		}
	}
	return goal{"connection storm: " + what, false, format, []figure{f}}
}

// stormsOf returns the storms of some arms.
func stormsOf(all []goodput.StormRun, arms ...string) []goodput.StormRun {
	return where(all, func(s goodput.StormRun) bool { return slices.Contains(arms, s.Arm) })
}

// afterFastest is how many seconds later than the fastest of other arms the last client of a storm was connected.
func afterFastest(all []goodput.StormRun, others ...string) func(goodput.StormRun) float64 {
	return func(s goodput.StormRun) float64 {
		lasts := values(stormsOf(all, others...), func(s goodput.StormRun) float64 { return s.Report.Last.Seconds() })
		return s.Report.Last.Seconds() - spread(lasts).Low
	}
}
