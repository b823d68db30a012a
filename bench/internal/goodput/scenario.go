// Package goodput measures what real drivers make of an overload: programs that differ in nothing but the driver put the same
// open-loop load on servers of a known capacity, side by side.
package goodput

import (
	"fmt"
	"slices"
	"time"

	"mongofork/bench/internal/arrival"
	"mongofork/bench/internal/openloop"
)

// Connections is how many connections all clients of an arm may have together. What waits for one sends nothing.
const Connections = 1000

// The servers. They are so slow that it takes two processors little to run several of them beside their clients.
const (
	Capacity = 200 // requests a second
	Queue    = 20  // requests that may wait
)

// operationPatience is how long operations may take after the load has ended.
const operationPatience = 3 * time.Second

// Kinds of scenarios.
const (
	Control   = "control"
	Sustained = "sustained"
	Spike     = "spike"
	Bursts    = "bursts"
	Flap      = "flap"
	Clients   = "clients"
	Member    = "member"
)

// Scenario is a load and the servers that it meets.
type Scenario struct {
	Kind string `json:"kind"`
	// RejectionCost is the work of a rejection as a share of that of a request that is served.
	RejectionCost float64 `json:"rejection_cost"`
	// Members is how many members the replica set has, of which the operations choose one at random; zero for one server alone.
	Members int `json:"members,omitempty"`
	// Limit is how many requests a second the first member admits, of its capacity; zero for all.
	Limit int `json:"limit,omitempty"`
	// Plan is the load, but for where it goes.
	Plan openloop.Plan `json:"plan"`
	// Arms are which arms meet it.
	Arms []string `json:"-"`
}

func (s Scenario) String() string {
	return fmt.Sprintf("%s, %v × capacity, rejection cost %v, %d clients, seed %d", s.Kind, max(s.Plan.Load.Base, s.Plan.Load.Peak),
		s.RejectionCost, s.Plan.Clients, s.Plan.Seed)
}

// topology is what the lab makes of the members.
func (s Scenario) topology() string {
	if s.Members == 0 {
		return "standalone"
	}
	return fmt.Sprintf("replicaset:%d", s.Members)
}

// The versions of upstream's driver that are compared with: what the fork is built on, which knows nothing of overload, and
// one that retries twice.
const (
	Base  = "v2.5.0"
	Later = "v2.9.3"
)

// The arms of a comparison.
const (
	NoRetry    = "upstream " + Base
	TwoRetries = "upstream " + Later
	Fork       = "fork"
	Adaptive   = "fork, adaptiveRetries"
	Single     = "fork, adaptiveRetries, 1 client" // whatever the scenario says
	Drained    = "fork, adaptiveRetries, tokens spent"
)

// base is what scenarios have in common.
func base(kind string, load arrival.Load, duration time.Duration) Scenario {
	return Scenario{
		Kind: kind, RejectionCost: 0.1, Arms: []string{NoRetry, TwoRetries, Fork, Adaptive},
		Plan: openloop.Plan{
			Clients: 10, Capacity: Capacity, Load: load, Duration: duration, Interval: duration, Patience: operationPatience, Seed: 1,
		},
	}
}

// Scenarios returns all scenarios, in the order in which they are run.
func Scenarios() []Scenario {
	control := base(Control, arrival.Load{Base: 0.5}, 5*time.Second)
	all := append([]Scenario{control}, sustained()...)
	all = append(all, varying()...)
	all = append(all, bursts()...)
	all = append(all, shared()...)
	return append(all, members()...)
}

// withSingle adds the arm that has all tokens in one client, which are a tenth of those of ten.
func withSingle(arms []string) []string { return append(slices.Clone(arms), Single) }

// sustained are overloads that last. The tokens of buckets are spent before: what they hold at the start ends soon.
func sustained() []Scenario {
	var all []Scenario
	for _, cost := range []float64{0.1, 0.5, 0.02} {
		for _, load := range []float64{1.1, 1.5, 2, 4} {
			s := base(Sustained, arrival.Load{Base: load}, 8*time.Second)
			s.RejectionCost, s.Arms = cost, []string{NoRetry, TwoRetries, Fork, Drained}
			s.Plan.Warmup, s.Plan.Cooldown = 3*time.Second, time.Second
			all = append(all, s)
		}
	}
	return all
}

// varying are a spike of three times the capacity, and a load that is twice the capacity every other two seconds.
func varying() []Scenario {
	spike := base(Spike, arrival.Load{
		Base: 0.8, Peak: 3, Start: 3 * time.Second, Burst: 5 * time.Second, Period: time.Hour,
	}, 20*time.Second)
	flap := base(Flap, arrival.Load{
		Base: 0.5, Peak: 2, Start: 2 * time.Second, Burst: 2 * time.Second, Period: 4 * time.Second,
	}, 18*time.Second)
	spike.Arms, flap.Arms = withSingle(spike.Arms), withSingle(flap.Arms)
	spike.Plan.Interval, flap.Plan.Interval = 500*time.Millisecond, 500*time.Millisecond
	return []Scenario{spike, flap}
}

// bursts are short bursts, under several seeds.
func bursts() []Scenario {
	const seeds = 10
	var all []Scenario
	for seed := range uint64(seeds) {
		period := 3500 * time.Millisecond
		s := base(Bursts, arrival.Load{Base: 0.5, Peak: 2, Start: time.Second, Burst: 500 * time.Millisecond, Period: period}, 3*period)
		s.Plan.Seed, s.Arms = seed+1, withSingle(s.Arms)
		all = append(all, s)
	}
	return all
}

// shared is one load that is shared by many clients or has but one, with fresh buckets.
func shared() []Scenario {
	var all []Scenario
	for _, clients := range []int{1, 10, 100} {
		s := base(Clients, arrival.Load{Base: 2}, 10*time.Second)
		s.Plan.Clients, s.Plan.Cooldown = clients, time.Second
		all = append(all, s)
	}
	return all
}

// members are reads at any of three members, of which the first admits less than its share of the load.
func members() []Scenario {
	const load = 0.6
	var all []Scenario
	for _, overload := range []float64{1.25, 2, 4} {
		s := base(Member, arrival.Load{Base: load}, 10*time.Second)
		s.Members, s.Plan.Warmup = 3, 2*time.Second
		s.Plan.Capacity *= float64(s.Members)
		s.Limit = int(load * Capacity / overload)
		all = append(all, s)
	}
	return all
}
