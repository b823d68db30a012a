package main

import (
	"fmt"
	"time"

	"mongofork/bench/overload"
)

// The situations that once were worse with adaptiveThrottling than without retries.
const (
	hot7, hot15, hot30, random20    = "7 % of a collection's reads", "15 %", "30 %", "20 % of everything, at random"
	critical30                      = "30 %, critical"
	oneHot15, oneHot30, oneRandom20 = "15 %, one client", "30 %, one client", "20 % at random, one client"
	writes30, writes300             = "writes to 30 collections", "writes to 300 collections"
	routers2, routers4              = "routers, 2 ×", "routers, 4 ×"
	tight, tightBursts              = "time for one reply, 2 ×", "time for one reply, bursts"
	slow, slowSpike                 = "1000 slow clients, 2 ×", "1000 slow clients, spike"

	getMores, transactions = "70 % getMore, 2 ×", "70 % transactions of five commands, 2 ×"
	unlabelled, limited    = "half of the rejections not retryable, 4 ×", "1000 clients at a limiter, 2 ×"
	herd, idle             = "1000 reads, connections closed", "a burst after 40 s at 5 %"
	besideLarge, together  = "nine clients beside one of 90 %, 2 ×", "everything together, 2 ×"
	afterOutage            = "4 × after 10 s without any success"
	secondaries, jump      = "overloaded primary, secondaryPreferred", "spike, at the end of which the clock jumps by 10 s"
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
		{hot7, 10, rejecting(0.07, overload.Class{})}, {critical30, 10, rejecting(0.3, overload.Class{Criticality: 1})},
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
			if c.clients == 1 {
				s.Seeds = 3 * lastingSeeds // chance decides much
			}
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

// untried are situations of which little was known.
func (a arms) untried() []entry {
	compared := []arm{a.noRetry, a.throttled, a.newerThrottled}
	var entries []entry
	for _, c := range []struct {
		name    string
		load    float64
		seconds time.Duration
		change  func(*overload.Scenario)
	}{
		{getMores, 2, 10, func(s *overload.Scenario) { s.Classes = mostly("getMore") }},
		{transactions, 2 / 4.5, 20, func(s *overload.Scenario) { s.Topology, s.Classes = "replicaset:1", mostly("transaction") }},
		{unlabelled, 4, 10, func(s *overload.Scenario) { s.Unlabelled = 0.5 }},
		{limited, 2, 1, func(s *overload.Scenario) {
			s.Clients, s.Capacity, s.Limit, s.Warmup, s.Seeds = 1000, 10_000, 10_000, 6*time.Second, 1
		}},
		{herd, 0, 0, func(s *overload.Scenario) { s.Herd, s.Seeds = 1000, 1 }},
		{idle, 0, 44, func(s *overload.Scenario) {
			s.Warmup = 0
			s.Load = overload.Load{Base: 0.05, Peak: 2, Start: time.Second, Burst: time.Second, Period: 41 * time.Second}
		}},
		{jump, 0, 14, func(s *overload.Scenario) {
			s.Warmup, s.Load, s.Jump = 0, spikeLoad, overload.Jump{Start: 7 * time.Second, Length: 10 * time.Second}
			s.Duration += s.Jump.Length
		}},
		{afterOutage, 4, 20, func(s *overload.Scenario) { s.Warmup, s.Outage = 15*time.Second, 10*time.Second }},
		{besideLarge, 2, 10, func(s *overload.Scenario) { s.Large = 0.9 }},
		{secondaries, 0.6, 8, func(s *overload.Scenario) {
			s.Topology, s.Options, s.MemberLoad, s.Capacity = "replicaset:3", "readPreference=secondaryPreferred", 4, 3*capacity
			s.Classes = []overload.Class{{Name: "writes", Share: 0.4, Command: "insert"}, {Name: served, Share: 0.6}}
		}},
		{together, 2, 10, func(s *overload.Scenario) {
			s.Clients, s.Large, s.Unlabelled, s.Neighbours, s.Options = 20, 0.2, 0.2, neverRetry, "timeoutMS=2000"
			s.Classes = append([]overload.Class{{Name: "getMore", Share: 0.1, Command: "getMore"}}, split(0.2, 0.5)...)
		}},
	} {
		entries = append(entries, entry{scenario(c.name, overload.Load{Base: c.load}, c.seconds*time.Second,
			func(s *overload.Scenario) { s.Warmup = 3 * time.Second }, c.change), compared})
	}
	for _, load := range []float64{2, 4, 10} {
		entries = append(entries, entry{scenario(minute(load), overload.Load{Base: load}, time.Minute,
			func(s *overload.Scenario) { s.Warmup = 3 * time.Second }), []arm{a.throttled, a.newerThrottled}})
	}
	return entries
}

// minute is the name of an overload of a minute.
func minute(load float64) string { return fmt.Sprintf("a minute at %v ×", load) }

// mostly returns seven tenths of a class beside reads.
func mostly(command string) []overload.Class {
	return []overload.Class{{Name: command, Share: 0.7, Command: command}, {Name: served, Share: 0.3}}
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
