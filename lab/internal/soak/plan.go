package soak

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"mongofork/lab/internal/fronts"
)

// recovery is how long members have to agree on a primary, or to come back, before the next incident.
const recovery = 2 * time.Second

// fault is what can happen to a deployment.
type fault struct {
	name string
	// begin and end are what happens to the member or its front, beside a limit.
	begin, end string
	// least and most bound its time; without, it ends by itself.
	least, most time.Duration
	// primary is how likely it happens to the primary.
	primary float64
	// requests and connections are how many of these a second it leaves to each front; up to twice as many.
	requests, connections int
	// ofMember is whether it happens to a member, which needs time to come back, and not to its front.
	ofMember bool
}

var faults = []*fault{
	{name: "kill", begin: fronts.Kill, end: fronts.Restart, least: 1500 * time.Millisecond, most: 5 * time.Second,
		primary: 0.7, ofMember: true},
	{name: "overload", least: time.Second, most: 3 * time.Second, requests: 50},
	// It takes so long that the others elect another primary.
	{name: "pause", begin: fronts.Pause, end: fronts.Resume, least: 1500 * time.Millisecond, most: 5 * time.Second,
		primary: 0.7, ofMember: true},
	{name: "step-down", begin: fronts.StepDown, primary: 1, ofMember: true},
	// It takes so long that clients find out, and look elsewhere.
	{name: "silent", begin: fronts.Silent, end: fronts.Off, least: 500 * time.Millisecond, most: 6 * time.Second, primary: 0.5},
	// It resets connections, too: the limit is about those that are needed again.
	{name: "connection limit", begin: fronts.Reset, least: 500 * time.Millisecond, most: 1500 * time.Millisecond,
		primary: 0.5, connections: 5},
}

// incident is a fault at a time.
type incident struct {
	At, For time.Duration // since the start, and how long
	Fault   *fault
	Member  int  // which member, or its front
	Primary bool // it happens to the primary at that time, or to Member if there is none
	Rate    int  // of a limit
}

func (e incident) String() string {
	who := fmt.Sprintf("member %d", e.Member)
	if e.Primary {
		who = "the primary"
	}
	if e.Rate > 0 {
		who = fmt.Sprintf("all fronts at most %d a second", e.Rate)
	}
	return fmt.Sprintf("%v: %s, %s, for %v", e.At, e.Fault.name, who, e.For)
}

// plan returns what happens during a run. The same arguments give the same plan.
//
// Each fault happens once before any fault happens again, so that short runs see all of them. Nothing happens in the first tenth of the
// run, in which clients connect, and in the last tenth, in which operations end. Nothing happens either while a member comes back.
func plan(seed uint64, duration time.Duration, faults []*fault) (incidents []incident) {
	random := rand.New(rand.NewPCG(seed, count))
	between := func(low, high time.Duration) time.Duration {
		return (low + time.Duration(random.Float64()*float64(high-low))).Round(time.Millisecond)
	}
	var bag []*fault
	end := duration - duration/10
	for at := duration / 10; ; at += between(500*time.Millisecond, 1500*time.Millisecond) {
		if len(bag) == 0 {
			bag = slices.Clone(faults)
			random.Shuffle(len(bag), func(i, j int) { bag[i], bag[j] = bag[j], bag[i] })
		}
		f := bag[0]
		bag = bag[1:]
		e := incident{At: at, For: between(f.least, f.most), Fault: f, Member: random.IntN(count),
			Primary: random.Float64() < f.primary}
		if rate := f.requests + f.connections; rate > 0 {
			e.Rate = rate + random.IntN(rate)
		}
		if e.At+e.For > end {
			return incidents
		}
		incidents = append(incidents, e)
		if at += e.For; f.ofMember {
			at += recovery
		}
	}
}
