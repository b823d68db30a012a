package main

import (
	"fmt"
	"time"

	"mongofork/bench/overload"
)

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
