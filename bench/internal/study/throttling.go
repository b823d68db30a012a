package study

import (
	"fmt"
	"slices"
	"time"

	"mongofork/bench/internal/arrival"
	"mongofork/bench/internal/sim"
	"mongofork/internal/retry"
)

// Throttling is the simulations of throttling.
type Throttling struct {
	// Goals is the cases that throttling has goals for, with the policies that it is compared with.
	Goals []Trial `json:"goals"`
	// Variants are some of these cases with variants of throttling.
	Variants []Trial `json:"variants"`
}

// Trial is the result of one policy or variant in one case, as medians over the seeds.
type Trial struct {
	Case string `json:"case"`
	// Arm is the policy of the clients, or of every other one, or the variant of throttling.
	Arm string `json:"arm"`

	Goodput    float64       `json:"goodput"`
	Commands   float64       `json:"commands_per_operation"`
	Errors     float64       `json:"errors"`
	Median     time.Duration `json:"median_ns"`
	P99        time.Duration `json:"p99_ns"`
	Fairness   float64       `json:"fairness"`
	Recovery   time.Duration `json:"recovery_ns"`
	Own        float64       `json:"own"`
	Neighbours float64       `json:"neighbours"`
}

// The number of seeds for each trial, and its length.
const (
	goalSeeds, variantSeeds = 5, 3
	goalTime, variantTime   = time.Minute, 30 * time.Second
)

// The cases without a number.
const (
	Flap      = "load that flaps"
	BelowFull = "95 % of the capacity"
)

// Sustained is the case of an overload that lasts.
func Sustained(load, cost float64) string {
	return fmt.Sprintf("%v × the capacity, rejection cost %v %%", load, 100*cost)
}

// FromStart is the case of so many new clients at twice the capacity, FromStartFast the same with servers that are five times as
// fast.
func FromStart(clients int) string { return fmt.Sprintf("%d new clients", clients) }

// FromStartFast is described at FromStart.
func FromStartFast(clients int) string { return FromStart(clients) + ", 1000 a second" }

// Bursts is the case of short bursts.
func Bursts(clients int) string { return fmt.Sprintf("short bursts, %d clients", clients) }

// Spike is the case of a long spike.
func Spike(clients int) string { return fmt.Sprintf("long spike, %d clients", clients) }

// Beside is the case of twice the capacity, with every other client of another policy.
func Beside(other sim.Policy) string { return "beside " + string(other) }

// Member is the case of one of three servers whose load is that multiple of what it admits.
func Member(overload float64) string { return fmt.Sprintf("one of three at %v ×", overload) }

// trialCase is a load and the servers that it meets.
type trialCase struct {
	name     string
	scenario sim.Scenario
}

// measured is the server of the measurements with real drivers, which serves 200 operations a second and lets 20 wait.
func measured(name string, load arrival.Load, change func(*sim.Scenario)) trialCase {
	s := base()
	s.Clients, s.Capacity, s.Queue, s.Warmup, s.Duration = 10, 200, 100*time.Millisecond, 5*time.Second, goalTime
	s.Load = load
	if change != nil {
		change(&s)
	}
	return trialCase{name, s}
}

// trialCases are the cases that have a goal.
func trialCases() []trialCase {
	return slices.Concat(sustainedCases(), startCases(), briefCases(), []trialCase{
		measured(Flap, arrival.Load{
			Base: 0.5, Peak: 2, Start: 2 * time.Second, Burst: 2 * time.Second, Period: 4 * time.Second,
		}, func(s *sim.Scenario) { s.Warmup = 0 }),
		measured(BelowFull, arrival.Load{Base: 0.95}, nil),
	}, besideCases(), memberCases())
}

func sustainedCases() []trialCase {
	var all []trialCase
	for _, c := range []struct{ load, cost float64 }{{1.1, 0.1}, {1.5, 0.1}, {2, 0.1}, {4, 0.1}, {10, 0.1}, {10, 0.02}, {2, 0.5}} {
		all = append(all, measured(Sustained(c.load, c.cost), arrival.Load{Base: c.load}, func(s *sim.Scenario) { s.RejectionCost = c.cost }))
	}
	return all
}

func startCases() []trialCase {
	var all []trialCase
	for _, clients := range []int{1, 10, 100} {
		fresh := func(s *sim.Scenario) { s.Clients, s.Warmup, s.Duration = clients, 0, 30*time.Second }
		all = append(all, measured(FromStart(clients), arrival.Load{Base: 2}, fresh),
			measured(FromStartFast(clients), arrival.Load{Base: 2}, func(s *sim.Scenario) {
				fresh(s)
				*s = fast(*s, 5)
			}))
	}
	return all
}

// briefCases are bursts and spikes.
func briefCases() []trialCase {
	var all []trialCase
	for _, clients := range []int{1, 10, 100} {
		bursts := arrival.Load{Base: 0.5, Peak: 2, Start: time.Second, Burst: 500 * time.Millisecond, Period: 3500 * time.Millisecond}
		spike := arrival.Load{Base: 0.8, Peak: 3, Start: 3 * time.Second, Burst: 5 * time.Second, Period: time.Hour}
		all = append(all,
			measured(Bursts(clients), bursts, func(s *sim.Scenario) { s.Clients, s.Warmup = clients, 0 }),
			measured(Spike(clients), spike, func(s *sim.Scenario) { s.Clients, s.Warmup, s.Duration = clients, 0, 14*time.Second }))
	}
	return all
}

func besideCases() []trialCase {
	var all []trialCase
	for _, other := range []sim.Policy{sim.NoRetry, sim.TwoRetries, sim.FiveRetries} {
		all = append(all, measured(Beside(other), arrival.Load{Base: 2}, func(s *sim.Scenario) { s.Others = other }))
	}
	return all
}

func memberCases() []trialCase {
	var all []trialCase
	for _, overload := range []float64{1.25, 2, 4} {
		s := members(overload)[1]
		s.Warmup, s.Duration = 2*time.Second, goalTime
		s.LimitedFor = s.Warmup + s.Duration
		all = append(all, trialCase{Member(overload), s})
	}
	return all
}

// Default is the fork's variant.
const Default = "the fork"

// variant is one variant of throttling.
type variant struct {
	name    string
	variant *sim.Variant
}

// variants are the variants of throttling, the fork's first. Each differs from it in one thing.
func variants() []variant {
	with := func(name string, change func(*sim.Variant)) variant {
		v := &sim.Variant{Rule: retry.DefaultThrottling()}
		change(v)
		return variant{name, v}
	}
	rule := func(name string, change func(*retry.Throttling)) variant {
		return with(name, func(v *sim.Variant) { change(&v.Rule) })
	}
	backoff := func(name string, first, last time.Duration, least float64) variant {
		return with(name, func(v *sim.Variant) { v.FirstBackoff, v.LastBackoff, v.LeastBackoff = first, last, least })
	}
	const ms = time.Millisecond
	all := []variant{{Default, nil}}
	for _, k := range []float64{1.05, 1.5, 2} {
		all = append(all, rule(fmt.Sprintf("K %v", k), func(r *retry.Throttling) { r.Slack = k }))
	}
	for _, d := range []time.Duration{3 * time.Second, 10 * time.Second} {
		all = append(all, rule(fmt.Sprintf("memory %v", d), func(r *retry.Throttling) { r.Memory = d }))
	}
	for _, d := range []time.Duration{0, 600 * ms} {
		all = append(all, rule(fmt.Sprintf("patience %v", d), func(r *retry.Throttling) { r.Patience = d }))
	}
	for _, d := range []time.Duration{2 * time.Second, time.Hour} {
		all = append(all, rule(fmt.Sprintf("recovery %v", d), func(r *retry.Throttling) { r.Recovery = d }))
	}
	for _, f := range []float64{0, 0.1, 0.5} {
		all = append(all, rule(fmt.Sprintf("floor %v", f), func(r *retry.Throttling) { r.Floor = f }))
	}
	return append(all,
		backoff("refusals back off from 25 ms on", 25*ms, 10*time.Second, 0),
		backoff("from 100 to 400 ms, at least half", 100*ms, 400*ms, 0.5),
		with("refusals fail at once", func(v *sim.Variant) { v.FailAtOnce = true }),
	)
}

// trialRun is the scenarios of one trial.
type trialRun struct {
	name, arm string
	scenario  sim.Scenario
}

// goalRuns are all cases with all policies.
func goalRuns() []trialRun {
	var all []trialRun
	for _, c := range trialCases() {
		for _, policy := range []sim.Policy{sim.NoRetry, sim.FiveRetries, sim.FullBucket, sim.Throttling} {
			c.scenario.Policy = policy
			all = append(all, trialRun{c.name, string(policy), c.scenario})
		}
	}
	return all
}

// variantRuns are the cases in which variants differ.
func variantRuns() []trialRun {
	judged := []string{
		Sustained(2, 0.1), Sustained(4, 0.1), Sustained(2, 0.5), FromStart(100), Bursts(10), Bursts(100), Spike(10), BelowFull,
		Beside(sim.NoRetry), Member(2),
	}
	var all []trialRun
	for _, c := range trialCases() {
		if !slices.Contains(judged, c.name) {
			continue
		}
		c.scenario.Policy, c.scenario.Duration = sim.Throttling, min(c.scenario.Duration, variantTime)
		for _, v := range variants() {
			c.scenario.Variant = v.variant
			all = append(all, trialRun{c.name, v.name, c.scenario})
		}
	}
	return all
}

// trialScenarios repeats the scenarios of trials under all seeds.
func trialScenarios(runs []trialRun, seeds uint64) []sim.Scenario {
	var all []sim.Scenario
	for _, r := range runs {
		for seed := range seeds {
			r.scenario.Seed = seed + 1
			all = append(all, r.scenario)
		}
	}
	return all
}

// trials summarizes the results of trialScenarios.
func trials(runs []trialRun, results []sim.Result) []Trial {
	seeds := len(results) / len(runs)
	all := make([]Trial, len(runs))
	for i, r := range runs {
		of := results[i*seeds : (i+1)*seeds]
		all[i] = Trial{
			Case: r.name, Arm: r.arm,
			Goodput:    middle(of, func(r sim.Result) float64 { return r.Goodput }),
			Commands:   middle(of, func(r sim.Result) float64 { return r.CommandsPerOperation }),
			Errors:     middle(of, func(r sim.Result) float64 { return r.Errors }),
			Median:     middle(of, func(r sim.Result) time.Duration { return r.Median }),
			P99:        middle(of, func(r sim.Result) time.Duration { return r.P99 }),
			Fairness:   middle(of, func(r sim.Result) float64 { return r.Fairness }),
			Recovery:   middle(of, func(r sim.Result) time.Duration { return r.Recovery }),
			Own:        middle(of, func(r sim.Result) float64 { return r.Own }),
			Neighbours: middle(of, func(r sim.Result) float64 { return r.Neighbours }),
		}
	}
	return all
}

// middle returns the median of a figure of an odd number of results.
func middle[T float64 | time.Duration](results []sim.Result, figure func(sim.Result) T) T {
	values := make([]T, len(results))
	for i, r := range results {
		values[i] = figure(r)
	}
	slices.Sort(values)
	return values[len(values)/2]
}
