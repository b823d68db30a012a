package study

import (
	"time"

	"mongofork/bench/internal/arrival"
	"mongofork/bench/internal/sim"
)

// measuredCost is the rejection cost at which real drivers were measured.
const measuredCost = 0.1

// seeds is the number of runs of scenarios whose figures vary from run to run.
const seeds = 10

// base holds what the scenarios have in common: one server that serves 1000 operations a second, and rejects when it is 20 ms
// behind.
func base() sim.Scenario {
	return sim.Scenario{
		Servers: 1, Clients: 1, Capacity: 1000, RejectionCost: measuredCost, Queue: 20 * time.Millisecond,
		Warmup: 10 * time.Second, Duration: 30 * time.Second, Seed: 1,
	}
}

// slow returns the scenario with servers of a tenth of the speed, so that many can be simulated. Their queues hold as many
// operations.
func slow(s sim.Scenario) sim.Scenario {
	s.Capacity /= 10
	s.Queue *= 10
	return s
}

// each returns one scenario for each policy.
func each(s sim.Scenario, policies ...sim.Policy) []sim.Scenario {
	var all []sim.Scenario
	for _, policy := range policies {
		s.Policy = policy
		all = append(all, s)
	}
	return all
}

// steadyPolicies are the policies that differ under a lasting overload.
func steadyPolicies() []sim.Policy {
	return []sim.Policy{sim.NoRetry, sim.TwoRetries, sim.FiveRetries, sim.DrainedBucket}
}

func checkScenarios() []sim.Scenario {
	var all []sim.Scenario
	for seed := range uint64(seeds) {
		s := base()
		s.Load.Base, s.Seed = 2, seed+1
		all = append(all, each(s, steadyPolicies()...)...)
	}
	return all
}

func loadScenarios() []sim.Scenario {
	var all []sim.Scenario
	for _, cost := range []float64{0.02, measuredCost, 0.5} {
		for _, load := range []float64{0.5, 0.8, 0.9, 0.95, 1, 1.05, 1.1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 6, 8, 10} {
			s := base()
			s.RejectionCost, s.Load.Base = cost, load
			all = append(all, each(s, steadyPolicies()...)...)
		}
	}
	return all
}

// goalScenarios are the loads and costs that have a goal, under several seeds.
func goalScenarios() []sim.Scenario {
	var all []sim.Scenario
	for _, cost := range []float64{measuredCost, 0.5} {
		for _, load := range []float64{1.1, 1.25, 1.5, 2, 4} {
			for seed := range uint64(seeds) {
				s := base()
				s.RejectionCost, s.Load.Base, s.Seed = cost, load, seed+1
				all = append(all, each(s, sim.NoRetry, sim.DrainedBucket)...)
			}
		}
	}
	return all
}

func fleetScenarios() []sim.Scenario {
	s := base()
	s.Servers, s.Load.Base, s.Warmup = 100, 2, 0
	s = slow(s)
	var all []sim.Scenario
	for _, window := range []time.Duration{10 * time.Second, time.Minute} {
		s.Duration = window
		for _, clients := range []int{1, 10, 30, 100, 300, 1000, 3000, 10_000} {
			s.Clients = clients
			all = append(all, each(s, sim.FullBucket)...)
		}
	}
	s.Clients = 1
	return append(all, each(s, sim.NoRetry, sim.TwoRetries, sim.FiveRetries)...)
}

func serverScenarios() []sim.Scenario {
	var all []sim.Scenario
	for _, servers := range []int{1, 3, 10, 30, 100} {
		s := base()
		s.Servers, s.Clients, s.Load.Base = servers, 10, 2
		all = append(all, each(slow(s), steadyPolicies()...)...)
	}
	return all
}

// members returns the three servers of the measurements, at 60 % of their capacity, the first of which admits only the given part
// of its share of the load, with either selection by operations in progress.
func members(overload float64) []sim.Scenario {
	const load, capacity = 0.6, 200
	s := base()
	s.Policy, s.Servers, s.Clients, s.Capacity, s.Queue = sim.FullBucket, 3, 10, capacity, 100*time.Millisecond
	s.Load.Base, s.Limit, s.LimitedFor = load, load*capacity/overload, s.Duration
	both := []sim.Scenario{s, s}
	both[0].Selection, both[1].Selection = sim.TwoChoices, sim.WithRejections
	return both
}

// fast returns the scenario with servers that are so many times as fast.
func fast(s sim.Scenario, times float64) sim.Scenario {
	s.Capacity *= times
	s.Limit *= times
	s.Queue = time.Duration(float64(s.Queue) / times)
	return s
}

func memberScenarios() []sim.Scenario {
	var all []sim.Scenario
	for _, overload := range []float64{1.25, 2, 4} {
		for seed := range uint64(seeds) {
			for _, s := range members(overload) {
				s.Seed = seed + 1
				more := s
				more.Clients *= 10
				all = append(all, s, more, fast(s, 25))
			}
		}
	}
	return all
}

func returnScenarios() []sim.Scenario {
	var all []sim.Scenario
	for _, overload := range []float64{2, 4} {
		for _, s := range members(overload) {
			s.LimitedFor, s.Duration, s.Interval = 5*time.Second, 8*time.Second, 100*time.Millisecond
			all = append(all, fast(s, 25))
		}
	}
	return all
}

func togetherScenarios() []sim.Scenario {
	var all []sim.Scenario
	for _, cost := range []float64{0, measuredCost} {
		for _, selection := range []sim.Selection{sim.AtRandom, sim.TwoChoices, sim.WithRejections} {
			s := members(2)[0]
			s.RejectionCost, s.Selection = cost, selection
			s.Load.Peak, s.Load.Burst, s.Load.Period = 2, time.Second, 5*time.Second
			s.Duration = 60 * s.Load.Period
			s.LimitedFor = s.Duration
			all = append(all, each(s, sim.NoRetry, sim.TwoRetries, sim.FiveRetries, sim.FullBucket, sim.DrainedBucket)...)
		}
	}
	return all
}

func burstScenarios() []sim.Scenario {
	var all []sim.Scenario
	for _, clients := range []int{1, 10, 100} {
		for seed := range uint64(seeds) {
			s := base()
			s.Clients, s.Seed, s.Warmup = clients, seed+1, 0
			s.Load = arrival.Load{Base: 0.5, Peak: 2, Burst: 500 * time.Millisecond, Period: 3500 * time.Millisecond}
			s.Duration = 6 * s.Load.Period
			all = append(all, each(s, sim.NoRetry, sim.TwoRetries, sim.FiveRetries, sim.FullBucket)...)
		}
	}
	return all
}

func spikeScenarios() []sim.Scenario {
	s := base()
	s.Clients, s.Capacity, s.Warmup, s.Interval = 10, 10_000, 0, 250*time.Millisecond
	s.Load = arrival.Load{Base: 0.8, Peak: 3, Start: 5 * time.Second, Burst: 5 * time.Second, Period: time.Minute}
	return each(s, sim.NoRetry, sim.TwoRetries, sim.FiveRetries, sim.FullBucket)
}
