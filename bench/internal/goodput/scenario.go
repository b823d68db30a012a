// Package goodput measures how real drivers cope with an overload: programs that differ only in the driver put the same open-loop
// load on servers of a known capacity, side by side.
package goodput

import (
	"fmt"
	"math"
	"time"

	"mongofork/bench/internal/arrival"
	"mongofork/bench/internal/openloop"
)

// Connections is the total number of connections for the clients of an arm. An operation that waits for one sends nothing.
const Connections = 1000

// The servers. They are so slow that two processors can easily run several of them beside their clients.
const (
	Capacity = 200 // requests a second
	Queue    = 20  // requests that may wait
)

// The most operations per second that two processors can send with all their retries. If a load would exceed that, the servers
// are slower.
const (
	mostCompiled    = 400 // by five programs in Go, one of which throttles itself
	mostInterpreted = 100 // by three in Go and two in other languages, which take a millisecond of a processor for each command
)

// besideSeed is the distance between the seeds of arms that share a server; greater than that of any two seeds of a scenario.
const besideSeed = 1000

// operationPatience is the time that operations may take after the end of the load.
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
	Mixed     = "mixed"
)

// Kinds returns all kinds of scenarios.
func Kinds() []string {
	return []string{Control, Sustained, Spike, Bursts, Flap, Clients, Member, Mixed}
}

// Scenario is a load and the servers that it meets.
type Scenario struct {
	Kind string `json:"kind"`
	// RejectionCost is the work of a rejection as a share of that of a request that is served.
	RejectionCost float64 `json:"rejection_cost"`
	// Members is the number of members of the replica set, from which operations choose one at random; zero for a single server.
	Members int `json:"members,omitempty"`
	// Real makes the members those of a real replica set, which the lab starts for each run.
	Real bool `json:"real,omitempty"`
	// Limit is the number of requests per second that the first member admits, of its capacity; zero for all.
	Limit int `json:"limit,omitempty"`
	// Plan is the load without its target.
	Plan openloop.Plan `json:"plan"`
	// Arms are the arms that meet it at the same time.
	Arms []string `json:"-"`
	// Shared makes the arms share one server, its load and the clients, instead of each having all of them.
	Shared bool `json:"shared,omitempty"`
	// Beside is the other arm, if arms share a server.
	Beside string `json:"beside,omitempty"`
}

func (s Scenario) String() string {
	return fmt.Sprintf("%s, %v × capacity, rejection cost %v, %d clients, seed %d", s.Kind, max(s.Plan.Load.Base, s.Plan.Load.Peak),
		s.RejectionCost, s.Plan.Clients, s.Plan.Seed)
}

// Capacity is the number of requests per second that each server serves.
func (s Scenario) Capacity() float64 { return s.Plan.Capacity / float64(max(1, s.Members)) }

// queue is the number of requests that may wait for a server. Their wait is the same at every capacity.
func (s Scenario) queue() int { return int(Queue * s.Capacity() / Capacity) }

// topology is the lab's topology for the members.
func (s Scenario) topology() string {
	if s.Members == 0 {
		return "standalone"
	}
	if s.Real {
		return fmt.Sprintf("members:%d", s.Members)
	}
	return fmt.Sprintf("replicaset:%d", s.Members)
}

// base holds what scenarios have in common.
func base(kind string, load arrival.Load, duration time.Duration) Scenario {
	return Scenario{
		Kind: kind, RejectionCost: 0.1, Arms: []string{NoRetry, TwoRetries, Fork, Adaptive, Throttling},
		Plan: openloop.Plan{
			Clients: 10, Capacity: Capacity, Load: load, Duration: duration, Interval: duration, Patience: operationPatience, Seed: 1,
		},
	}
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

// of returns an arm's part: all, or its share of the load with arrivals of its own.
func (s Scenario) of(arm int) Scenario {
	if !s.Shared {
		return s
	}
	s.Beside = s.Arms[len(s.Arms)-1-arm]
	s.Plan.Clients /= len(s.Arms)
	s.Plan.Capacity /= float64(len(s.Arms))
	s.Plan.Seed += uint64(arm) * besideSeed
	return s
}

// Round numbers the repetitions of a scenario; arms that share a server have the same round, but seeds of their own.
func (s Scenario) Round() uint64 { return s.Plan.Seed % besideSeed }

// limitedTo makes the servers so slow that their load is at most that many operations per second.
func (s Scenario) limitedTo(operations float64) Scenario {
	members := float64(max(1, s.Members))
	each := math.Floor(operations / max(s.Plan.Load.Base, s.Plan.Load.Peak) / members)
	if each >= s.Capacity() {
		return s
	}
	s.Limit = int(float64(s.Limit) * each / s.Capacity())
	s.Plan.Capacity = each * members
	return s
}
