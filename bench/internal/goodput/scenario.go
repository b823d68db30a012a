// Package goodput measures what real drivers make of an overload: programs that differ in nothing but the driver put the same
// open-loop load on servers of a known capacity, side by side.
package goodput

import (
	"fmt"
	"math"
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

// The most operations a second that two processors can send with all their retries. Where a load would be more, the servers
// are slower.
const (
	mostCompiled    = 400 // by four programs in Go
	mostInterpreted = 160 // by two programs in other languages, which take a millisecond of a processor for each command
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

// StormKind is what is no scenario: many clients that start at once.
const StormKind = "storm"

// Kinds returns all kinds of scenarios.
func Kinds() []string {
	return []string{Control, Sustained, Spike, Bursts, Flap, Clients, Member}
}

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
	// Arms are which arms meet it at the same time.
	Arms []string `json:"-"`
}

func (s Scenario) String() string {
	return fmt.Sprintf("%s, %v × capacity, rejection cost %v, %d clients, seed %d", s.Kind, max(s.Plan.Load.Base, s.Plan.Load.Peak),
		s.RejectionCost, s.Plan.Clients, s.Plan.Seed)
}

// Capacity is how many requests a second each server serves.
func (s Scenario) Capacity() float64 { return s.Plan.Capacity / float64(max(1, s.Members)) }

// queue is how many requests may wait for a server. They wait as long at every capacity.
func (s Scenario) queue() int { return int(Queue * s.Capacity() / Capacity) }

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

// The versions of drivers of other languages, which bench/arms pins. By default, both retry twice after an overload error, and
// have no bucket.
const (
	pyMongoVersion    = "4.20.0"
	nodeDriverVersion = "7.9.0"
)

// The arms of a comparison.
const (
	NoRetry    = "upstream " + Base
	TwoRetries = "upstream " + Later
	Fork       = "fork"
	Adaptive   = "fork, adaptiveRetries"
	Single     = "fork, adaptiveRetries, 1 client" // whatever the scenario says
	Drained    = "fork, adaptiveRetries, tokens spent"
	PyMongo    = "PyMongo " + pyMongoVersion
	NodeDriver = "Node driver " + nodeDriverVersion
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
	return slices.Concat([]Scenario{control}, sustained(), spikes(), []Scenario{flap()}, bursts(), shared(), members(), otherDrivers())
}

// seeds repeats a scenario under that many seeds.
func (s Scenario) seeds(n uint64) []Scenario {
	all := make([]Scenario, n)
	for i := range all {
		all[i] = s
		all[i].Plan.Seed = uint64(i) + 1
	}
	return all
}

// withSingle adds the arm that has all tokens in one client, which are a tenth of those of ten.
func withSingle(arms []string) []string { return append(slices.Clone(arms), Single) }

// lasting is an overload that lasts. The tokens of buckets are spent before: what they hold at the start ends soon.
func lasting(cost, load float64) Scenario {
	s := base(Sustained, arrival.Load{Base: load}, 5*time.Second)
	s.RejectionCost, s.Arms = cost, []string{NoRetry, TwoRetries, Fork, Drained}
	s.Plan.Warmup, s.Plan.Cooldown = 3*time.Second, 500*time.Millisecond
	return s.limitedTo(mostCompiled)
}

// limitedTo makes the servers so slow that their load is at most that many operations a second.
func (s Scenario) limitedTo(operations float64) Scenario {
	s.Plan.Capacity = min(s.Plan.Capacity, math.Floor(operations/s.Plan.Load.Base))
	return s
}

// sustained are overloads that last. Where the bucket comes close to its goal there are several seeds. At higher loads a
// rejection cost of 50 % leaves nothing to compare, and at lower ones one of 2 % costs next to nothing.
func sustained() []Scenario {
	const severalSeeds = 3
	return slices.Concat(
		lasting(0.1, 1.1).seeds(severalSeeds),
		[]Scenario{lasting(0.1, 1.5), lasting(0.1, 2), lasting(0.1, 4)},
		lasting(0.5, 1.1).seeds(severalSeeds),
		[]Scenario{lasting(0.5, 1.5), lasting(0.5, 2)},
		[]Scenario{lasting(0.02, 4), lasting(0.02, 10)},
	)
}

// otherDrivers are lasting overloads for the drivers of other languages. They take so much of the processors that they would
// disturb the others.
func otherDrivers() []Scenario {
	all := []Scenario{lasting(0.1, 1.1), lasting(0.1, 2), lasting(0.1, 4), lasting(0.02, 10)}
	for i := range all {
		all[i] = all[i].limitedTo(mostInterpreted)
		all[i].Arms = []string{PyMongo, NodeDriver}
	}
	return all
}

// spikes are a spike of three times the capacity, under several seeds.
func spikes() []Scenario {
	const severalSeeds = 3
	s := base(Spike, arrival.Load{
		Base: 0.8, Peak: 3, Start: 3 * time.Second, Burst: 5 * time.Second, Period: time.Hour,
	}, 14*time.Second)
	s.Arms, s.Plan.Interval = withSingle(s.Arms), 500*time.Millisecond
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

// bursts are short bursts, under several seeds.
func bursts() []Scenario {
	const severalSeeds = 10
	period := 3500 * time.Millisecond
	s := base(Bursts, arrival.Load{Base: 0.5, Peak: 2, Start: time.Second, Burst: 500 * time.Millisecond, Period: period}, 3*period-time.Second)
	s.Arms = withSingle(s.Arms)
	return s.seeds(severalSeeds)
}

// shared is one load that is shared by many clients or has but one, with fresh buckets.
func shared() []Scenario {
	var all []Scenario
	for _, clients := range []int{1, 10, 100} {
		s := base(Clients, arrival.Load{Base: 2}, 6*time.Second)
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
		s := base(Member, arrival.Load{Base: load}, 8*time.Second)
		s.Members, s.Plan.Warmup = 3, 2*time.Second
		s.Plan.Capacity *= float64(s.Members)
		s.Limit = int(load * Capacity / overload)
		all = append(all, s)
	}
	return all
}
