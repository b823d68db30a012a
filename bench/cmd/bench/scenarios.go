package main

import (
	"fmt"
	"slices"
	"time"

	"mongofork/bench/overload"
)

// entry is a scenario and the arms that meet it, each with servers of its own.
type entry struct {
	overload.Scenario
	arms []arm
}

// runs is the number of an arm's runs. Retries without a limit take most of the time, and have no goal.
func (e entry) runs(a arm) int {
	n := e.Seeds
	if a.fork && a.options == "" {
		n = max(1, n/2)
	}
	return n
}

// capacity is the servers', in operations a second.
const capacity = 200

// The number of runs with different arrivals. What lasts differs little between them.
const (
	lastingSeeds = 2
	briefSeeds   = 3
)

// scenarios returns all scenarios. A new one is a few lines here, and a row in a table or goal.
func (a arms) scenarios() []entry {
	return slices.Concat(a.lasting(), a.newcomers(), a.brief(), a.neighbours(), a.members(), a.rejectedShares(),
		a.others(), a.untried(),
		a.classes(), []entry{
			{scenario("storm", overload.Load{}, 0, func(s *overload.Scenario) {
				s.Storm, s.Seeds = &overload.Storm{Clients: 500, PerSecond: 100, Queue: 50}, briefSeeds
			}), []arm{a.noRetry, a.twoRetries, a.fork, a.full, a.throttled, a.newerFork, a.newerFull, a.newerThrottled}},
			{scenario("95 %", overload.Load{Base: 0.95}, 15*time.Second), []arm{a.noRetry, a.throttled, a.newerThrottled}},
		})
}

// scenario returns ten clients before one server that rejects at a tenth of the cost of an operation.
func scenario(name string, load overload.Load, duration time.Duration, changes ...func(*overload.Scenario)) overload.Scenario {
	s := overload.Scenario{
		Name: name, Clients: 10, Load: load, Capacity: capacity, RejectionCost: 0.1, Duration: duration, Seeds: lastingSeeds,
	}
	for _, change := range changes {
		change(&s)
	}
	return s
}

// lastingAt is the name of an overload that lasts.
func lastingAt(load, cost float64) string { return fmt.Sprintf("%v ×, %v %%", load, 100*cost) }

// lasting are overloads that last. The buckets' tokens are spent before, because they would not last either. At higher loads a
// rejection cost of 50 % leaves nothing to compare, and at lower ones one of 2 % costs next to nothing.
func (a arms) lasting() []entry {
	judged := []arm{a.noRetry, a.spent, a.throttled, a.newerSpent, a.newerThrottled}
	shown := append(slices.Clone(judged), a.twoRetries, a.fork)
	all := append(slices.Clone(shown), a.newerFork)
	var entries []entry
	for _, c := range []struct {
		load, cost float64
		seconds    time.Duration
		arms       []arm
	}{
		{1.1, 0.1, 15, shown}, {1.5, 0.1, 15, shown}, {2, 0.1, 15, all}, {4, 0.1, 10, shown}, {10, 0.1, 5, shown},
		{1.1, 0.5, 10, judged}, {1.5, 0.5, 10, judged}, {2, 0.5, 10, judged}, {10, 0.02, 5, judged},
	} {
		entries = append(entries, entry{scenario(lastingAt(c.load, c.cost), overload.Load{Base: c.load}, c.seconds*time.Second,
			func(s *overload.Scenario) {
				s.RejectionCost, s.Warmup = c.cost, 3*time.Second
			}), c.arms})
	}
	return entries
}

// fastServer is that of a hundred clients with twenty operations a second each.
const fastServer = "100 clients, five times as fast"

func clients(n int) string {
	if n == 1 {
		return "1 client"
	}
	return fmt.Sprintf("%d clients", n)
}

// newcomers are clients that know nothing and have all tokens when twice the capacity begins.
func (a arms) newcomers() []entry {
	var entries []entry
	for _, n := range []int{1, 10, 100, 1000} {
		arms := []arm{a.noRetry, a.twoRetries, a.full, a.throttled, a.newerFull, a.newerThrottled}
		if n == 10 || n == 100 {
			arms = append(arms, a.fork)
		}
		entries = append(entries,
			entry{scenario(clients(n), overload.Load{Base: 2}, 15*time.Second, func(s *overload.Scenario) { s.Clients = n }),
				arms})
	}
	for _, load := range plottedLoads() {
		if name := firstSeconds(load); name != clients(10) {
			entries = append(entries, entry{scenario(name, overload.Load{Base: load}, 15*time.Second), []arm{a.full}})
		}
	}
	return append(entries, entry{scenario(fastServer, overload.Load{Base: 2}, 10*time.Second, func(s *overload.Scenario) {
		s.Clients, s.Capacity = 100, 5*capacity
	}), []arm{a.noRetry, a.throttled, a.newerThrottled}})
}

// firstSeconds is the name of the first seconds of an overload that meets ten newcomers.
func firstSeconds(load float64) string {
	if load == 2 {
		return clients(10)
	}
	return fmt.Sprintf("the first 15 s at %v ×", load)
}

// spikeLoad is three times the capacity for five seconds, and 80 % before and after.
var spikeLoad = overload.Load{Base: 0.8, Peak: 3, Start: 3 * time.Second, Burst: 5 * time.Second, Period: time.Hour}

// burstLoad is twice the capacity for half a second in every three and a half.
var burstLoad = overload.Load{Base: 0.5, Peak: 2, Start: time.Second, Burst: 500 * time.Millisecond, Period: 3500 * time.Millisecond}

// brief are overloads that end: half a second at twice the capacity every three and a half, a spike, and a load that flaps between
// half and twice the capacity.
func (a arms) brief() []entry {
	flap := overload.Load{Base: 0.5, Peak: 2, Start: 2 * time.Second, Burst: 2 * time.Second, Period: 4 * time.Second}
	var entries []entry
	for _, n := range []int{1, 10, 100} {
		share := func(s *overload.Scenario) { s.Clients, s.Seeds = n, briefSeeds }
		arms := []arm{a.noRetry, a.full, a.throttled, a.newerFull, a.newerThrottled}
		spiked := slices.Clone(arms)
		if n == 10 {
			spiked = append(spiked, a.twoRetries, a.fork)
		}
		entries = append(entries,
			entry{scenario("bursts, "+clients(n), burstLoad, 20*time.Second, share), arms},
			entry{scenario("spike, "+clients(n), spikeLoad, 14*time.Second, share), spiked})
	}
	return append(entries, entry{scenario("flap", flap, 14*time.Second), []arm{a.noRetry, a.twoRetries, a.fork, a.full, a.throttled,
		a.newerThrottled}})
}
