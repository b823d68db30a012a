package goodput

import (
	"slices"
	"time"

	"mongofork/bench/internal/arrival"
)

// Scenarios returns all scenarios of the Go drivers, in the order in which they are run.
func Scenarios() []Scenario {
	control := base(Control, arrival.Load{Base: 0.5}, 5*time.Second)
	return slices.Concat([]Scenario{control}, sustained(), spikes(), []Scenario{flap()}, bursts(),
		severally(shared(30*time.Second)), severally(members()), severally(mixed()))
}

// withSingle adds the arm that has all tokens in one client, which are a tenth of those of ten.
func withSingle(arms []string) []string { return append(slices.Clone(arms), Single) }

// lasting is an overload that lasts. The buckets' tokens are spent before, because they would not last either.
func lasting(cost, load float64) Scenario {
	s := base(Sustained, arrival.Load{Base: load}, 5*time.Second)
	s.RejectionCost, s.Arms = cost, []string{NoRetry, TwoRetries, Fork, Drained, Throttling}
	s.Plan.Warmup, s.Plan.Cooldown = 3*time.Second, 500*time.Millisecond
	return s.limitedTo(mostCompiled)
}

// severalSeeds is the number of seeds of scenarios that have goals.
const severalSeeds = 3

// sustained are overloads that last, under several seeds. At higher loads a rejection cost of 50 % leaves nothing to compare, and
// at lower ones one of 2 % costs next to nothing.
func sustained() []Scenario {
	return severally([]Scenario{
		lasting(0.1, 1.1), lasting(0.1, 1.5), lasting(0.1, 2), lasting(0.1, 4),
		lasting(0.5, 1.1), lasting(0.5, 1.5), lasting(0.5, 2),
		lasting(0.02, 4), lasting(0.02, 10),
	})
}

// severally repeats scenarios under several seeds.
func severally(scenarios []Scenario) []Scenario {
	var all []Scenario
	for _, s := range scenarios {
		all = append(all, s.seeds(severalSeeds)...)
	}
	return all
}

// spike is a spike of three times the capacity.
func spike() Scenario {
	s := base(Spike, arrival.Load{
		Base: 0.8, Peak: 3, Start: 3 * time.Second, Burst: 5 * time.Second, Period: time.Hour,
	}, 14*time.Second)
	s.Plan.Interval = 500 * time.Millisecond
	return s
}

func spikes() []Scenario {
	s := spike()
	s.Arms = withSingle(s.Arms)
	return s.seeds(severalSeeds)
}

// flap is a load that is twice the capacity every other two seconds.
func flap() Scenario {
	s := base(Flap, arrival.Load{
		Base: 0.5, Peak: 2, Start: 2 * time.Second, Burst: 2 * time.Second, Period: 4 * time.Second,
	}, 14*time.Second)
	s.Arms, s.Plan.Interval = withSingle(s.Arms), 500*time.Millisecond
	return s
}

// burst is a series of short bursts.
func burst() Scenario {
	period := 3500 * time.Millisecond
	return base(Bursts, arrival.Load{Base: 0.5, Peak: 2, Start: time.Second, Burst: 500 * time.Millisecond, Period: period}, 3*period-time.Second)
}

func bursts() []Scenario {
	const manySeeds = 10
	s := burst()
	s.Arms = withSingle(s.Arms)
	return s.seeds(manySeeds)
}

// FleetScenarios returns the bursts and the spike for one client that has all of the load and for a hundred that share it, and a
// load just below the capacity. Whoever throttles is compared with whoever does not retry.
func FleetScenarios() []Scenario {
	all := []Scenario{base(Control, arrival.Load{Base: 0.95}, 15*time.Second)}
	for _, clients := range []int{1, 100} {
		for _, s := range []Scenario{burst(), spike()} {
			s.Plan.Clients = clients
			all = append(all, s)
		}
	}
	for i := range all {
		all[i].Arms = []string{NoRetry, Throttling}
	}
	return severally(all)
}

// shared is one load, shared by many clients or from only one, with fresh buckets, from the first second. Each of a hundred
// clients has four operations per second, from which it learns little, or twenty.
func shared(duration time.Duration) []Scenario {
	var all []Scenario
	for _, clients := range []int{1, 10, 100} {
		s := base(Clients, arrival.Load{Base: 2}, duration)
		s.Plan.Clients, s.Plan.Cooldown = clients, time.Second
		all = append(all, s)
	}
	busy := all[len(all)-1]
	busy.Arms, busy.Plan.Capacity = []string{NoRetry, Throttling}, 5*Capacity
	return append(all, busy)
}

// mixed are fleets of two drivers that share a server: each of those without throttling beside as many clients that throttle, and
// beside as many that retry up to five times.
func mixed() []Scenario {
	var all []Scenario
	for _, neighbour := range []string{NoRetry, TwoRetries, Fork} {
		for _, other := range []string{Throttling, Fork} {
			s := base(Mixed, arrival.Load{Base: 2}, 10*time.Second)
			s.Arms, s.Shared = []string{neighbour, other}, true
			s.Plan.Warmup, s.Plan.Cooldown = 2*time.Second, time.Second
			all = append(all, s)
		}
	}
	return all
}

// members are reads from any of three members; the first admits less than its share of the load.
func members() []Scenario {
	const load = 0.6
	var all []Scenario
	for _, overload := range []float64{1.25, 2, 4} {
		s := base(Member, arrival.Load{Base: load}, 8*time.Second)
		s.Members, s.Plan.Warmup = 3, 2*time.Second
		s.Plan.Capacity *= float64(s.Members)
		s.Limit = int(load * Capacity / overload)
		all = append(all, s)
	}
	return all
}
