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
	return slices.Concat(a.lasting(), a.newcomers(), a.brief(), a.neighbours(), a.members(), a.rejectedShares(), a.others(),
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

// Neighbours' options: no retries, and what the base does by default, which is five or two.
const (
	neverRetry  = "retryReads=false"
	retryAlways = "retryReads=true"
	besideNone  = "beside no retries"
	besideRetry = "beside retries"
	besideNone4 = "beside no retries, 4 ×"
)

// neighbours are fleets of which every other client has other options.
func (a arms) neighbours() []entry {
	var entries []entry
	for _, c := range []struct {
		name, options string
		load          float64
	}{{besideNone, neverRetry, 2}, {besideRetry, retryAlways, 2}, {besideNone4, neverRetry, 4}} {
		entries = append(entries, entry{scenario(c.name, overload.Load{Base: c.load}, 10*time.Second, func(s *overload.Scenario) {
			s.Warmup, s.Neighbours = 2*time.Second, c.options
		}), []arm{a.throttled, a.fork, a.newerThrottled, a.newerFork}})
	}
	return entries
}

func oneOfThree(load float64) string { return fmt.Sprintf("one of three at %v ×", load) }

// members are reads from any of three members, of which the first admits less than its share of the load.
func (a arms) members() []entry {
	var entries []entry
	for _, load := range []float64{1.25, 2, 4} {
		entries = append(entries,
			entry{scenario(oneOfThree(load), overload.Load{Base: 0.6}, 8*time.Second, func(s *overload.Scenario) {
				s.Topology, s.Options, s.MemberLoad, s.Capacity, s.Warmup = "replicaset:3", "readPreference=nearest", load,
					3*capacity, 2*time.Second
			}), []arm{a.noRetry, a.twoRetries, a.full, a.throttled, a.newerFull, a.newerThrottled}})
	}
	return entries
}

// rejectedShare is a share of the operations that is always rejected, though the server has all the capacity that it needs.
type rejectedShare struct {
	by       string // what they have in common
	share    float64
	topology string
	class    overload.Class
}

func (r rejectedShare) name() string { return fmt.Sprintf("%v %% rejected, by %s", 100*r.share, r.by) }

func allRejectedShares() []rejectedShare {
	command, collection := overload.Class{Command: "aggregate"}, overload.Class{Collection: "reports"}
	const router = "sharded:1"
	return []rejectedShare{
		{"command", 0.05, "", command}, {"command", 0.1, "", command}, {"command", 0.25, "", command},
		{"command", 0.5, "", command},
		{"collection", 0.05, "", collection}, {"collection", 0.5, "", collection},
		{"shard", 0.05, router, overload.Class{}}, {"shard", 0.25, router, overload.Class{}},
		{"shard", 0.5, router, overload.Class{}},
	}
}

// served is the class of what is not rejected.
const served = "served"

func (a arms) rejectedShares() []entry {
	var entries []entry
	for _, r := range allRejectedShares() {
		entries = append(entries, entry{scenario(r.name(), overload.Load{Base: 0.2}, 20*time.Second, func(s *overload.Scenario) {
			class := r.class
			class.Name, class.Share, class.Rejected = "rejected", r.share, true
			s.Capacity, s.Topology, s.Classes = 5*capacity, r.topology,
				[]overload.Class{class, {Name: served, Share: 1 - r.share}}
		}), []arm{a.fork, a.throttled, a.newerThrottled}})
	}
	return entries
}

// The situations that once were worse with adaptiveThrottling than without retries.
const (
	hot15, hot30, random20          = "15 % of a collection's reads", "30 %", "20 % of everything, at random"
	oneHot15, oneHot30, oneRandom20 = "15 %, one client", "30 %, one client", "20 % at random, one client"
	writes30, writes300             = "writes to 30 collections", "writes to 300 collections"
	routers2, routers4              = "routers, 2 ×", "routers, 4 ×"
	tight, tightBursts              = "time for one reply, 2 ×", "time for one reply, bursts"
	slow, slowSpike                 = "1000 slow clients, 2 ×", "1000 slow clients, spike"
)

// others are those situations. A server with capacity to spare rejects what is named; what is measured begins after ten seconds, for
// one client after twenty, as it knows less.
func (a arms) others() []entry {
	compared := []arm{a.noRetry, a.throttled, a.newerThrottled}
	var entries []entry
	for _, c := range []struct {
		name    string
		clients int
		classes []overload.Class
	}{
		{hot15, 10, rejecting(0.15, overload.Class{})}, {hot30, 10, rejecting(0.3, overload.Class{})},
		{random20, 10, atRandom(0.2)},
		{oneHot15, 1, rejecting(0.15, overload.Class{})}, {oneHot30, 1, rejecting(0.3, overload.Class{})},
		{oneRandom20, 1, atRandom(0.2)},
		{writes30, 10, rejecting(0.5, overload.Class{Command: "insert", Collections: 30})},
		{writes300, 10, rejecting(0.5, overload.Class{Command: "insert", Collections: 300})},
	} {
		rate, warmup, duration := 100*float64(c.clients), 10*time.Second, 10*time.Second
		if c.clients == 1 {
			rate, warmup, duration = 20, 20*time.Second, 40*time.Second
		}
		entries = append(entries, entry{scenario(c.name, overload.Load{Base: 0.2}, duration, func(s *overload.Scenario) {
			s.Clients, s.Capacity, s.Warmup, s.Classes = c.clients, 5*rate, warmup, c.classes
		}), compared})
	}
	router := func(s *overload.Scenario) { s.Topology, s.Warmup = "sharded:1", 3*time.Second }
	hurried := func(s *overload.Scenario) { s.Options = "timeoutMS=200" }
	slowly := func(s *overload.Scenario) { s.Clients = 1000 }
	return append(entries,
		entry{scenario(routers2, overload.Load{Base: 2}, 15*time.Second, router), compared},
		entry{scenario(routers4, overload.Load{Base: 4}, 10*time.Second, router), compared},
		entry{scenario(tight, overload.Load{Base: 2}, 15*time.Second, hurried), compared},
		entry{scenario(tightBursts, burstLoad, 20*time.Second, hurried), compared},
		entry{scenario(slow, overload.Load{Base: 2}, 15*time.Second, slowly), compared},
		entry{scenario(slowSpike, spikeLoad, 14*time.Second, slowly), compared})
}

// rejecting returns a class of which all is rejected, and the rest.
func rejecting(share float64, class overload.Class) []overload.Class {
	class.Name, class.Share, class.Rejected = "rejected", share, true
	return []overload.Class{class, {Name: served, Share: 1 - share, Collections: class.Collections}}
}

// atRandom returns a class of which the server rejects a share of the attempts.
func atRandom(share float64) []overload.Class {
	return []overload.Class{{Name: served, Share: 1, Rejected: true, Chance: share}}
}

// The classes of operations that the application marks.
const (
	critical  = "critical"
	normal    = "normal"
	sheddable = "sheddable"
)

// split returns the classes of a load of which shares are critical and normal, and the rest is sheddable.
func split(ofCritical, ofNormal float64) []overload.Class {
	all := []overload.Class{
		{Name: critical, Share: ofCritical, Criticality: 1}, {Name: normal, Share: ofNormal},
		{Name: sheddable, Share: 1 - ofCritical - ofNormal, Criticality: -1},
	}
	return slices.DeleteFunc(all, func(c overload.Class) bool { return c.Share < 0.001 })
}

// The scenarios with classes.
const (
	classesTwice   = "2 ×, 30 % critical"
	classesFour    = "4 ×, 20 % critical"
	classesTen     = "10 ×, 10 % critical"
	classesThree   = "3 ×, 20 % critical, 30 % normal"
	classesHundred = "2 ×, 30 % critical, 100 clients"
	allCritical    = "2 ×, all critical"
	classesBelow   = "50 % of the capacity, 30 % critical"
)

// overloadsInClasses are those in which some operations are critical.
func overloadsInClasses() []string {
	return []string{classesTwice, classesFour, classesTen, classesThree, classesHundred}
}

// marked is the name of a scenario in which 30 % are critical and 30 % normal.
func marked(scenario string) string { return scenario + ", in classes" }

// classes are loads of which the application says what matters.
func (a arms) classes() []entry {
	var entries []entry
	for _, c := range []struct {
		name             string
		load             float64
		clients          int
		critical, normal float64
		seconds          time.Duration
	}{
		{classesTwice, 2, 10, 0.3, 0, 20}, {classesFour, 4, 10, 0.2, 0, 15}, {classesTen, 10, 10, 0.1, 0, 10},
		{classesThree, 3, 10, 0.2, 0.3, 15}, {classesHundred, 2, 100, 0.3, 0, 20},
	} {
		entries = append(entries,
			entry{scenario(c.name, overload.Load{Base: c.load}, c.seconds*time.Second, func(s *overload.Scenario) {
				s.Clients, s.Classes = c.clients, split(c.critical, c.normal)
			}), []arm{a.noRetry, a.prioritized, a.throttled, a.newerThrottled}})
	}
	both := []arm{a.throttled, a.newerThrottled}
	for _, e := range slices.Concat(a.brief(), a.neighbours()) {
		if slices.Contains(comparedInClasses(), e.Name) {
			e.Name, e.Classes, e.arms = marked(e.Name), split(0.3, 0.3), both
			entries = append(entries, e)
		}
	}
	return append(entries,
		entry{scenario(allCritical, overload.Load{Base: 2}, 15*time.Second, func(s *overload.Scenario) { s.Classes = split(1, 0) }),
			both},
		entry{scenario(classesBelow, overload.Load{Base: 0.5}, 10*time.Second, func(s *overload.Scenario) {
			s.Classes = split(0.3, 0.3)
		}), both})
}

// comparedInClasses are the scenarios that are measured with and without classes.
func comparedInClasses() []string {
	return []string{"bursts, " + clients(10), "spike, " + clients(10), "flap", besideNone, besideNone4}
}
