package soak

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"mongofork/lab/internal/fronts"
)

// recovery is the time that members have to agree on a primary, or to come back, before the next event.
const recovery = 2 * time.Second

// Action is a fault of a deployment.
type Action struct {
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

var (
	kill = Action{name: "kill", begin: fronts.Kill, end: fronts.Restart, least: 1500 * time.Millisecond, most: 5 * time.Second,
		primary: 0.7, ofMember: true}
	// pause takes so long that the others elect another primary.
	pause = Action{name: "pause", begin: fronts.Pause, end: fronts.Resume, least: 1500 * time.Millisecond, most: 5 * time.Second,
		primary: 0.7, ofMember: true}
	stepDown = Action{name: "step-down", begin: fronts.StepDown, primary: 1, ofMember: true}
	// silent takes so long that clients find out, and look elsewhere.
	silent = Action{name: "silent", begin: fronts.Silent, end: fronts.Off, least: 500 * time.Millisecond, most: 6 * time.Second,
		primary: 0.5}
	overloaded = Action{name: "overload", least: time.Second, most: 3 * time.Second, requests: 50}
	// refusing resets connections, too: the limit is about those that are needed again.
	refusing = Action{name: "connection limit", begin: fronts.Reset, least: 500 * time.Millisecond, most: 1500 * time.Millisecond,
		primary: 0.5, connections: 5}

	actions = []*Action{&kill, &overloaded, &pause, &stepDown, &silent, &refusing}
)

// Event is an action at a time.
type Event struct {
	At, For time.Duration // since the start, and how long
	Action  *Action
	Member  int  // which member, or its front
	Primary bool // it happens to the primary at that time, or to Member if there is none
	Rate    int  // of a limit
}

func (e Event) String() string {
	who := fmt.Sprintf("member %d", e.Member)
	if e.Primary {
		who = "the primary"
	}
	if e.Rate > 0 {
		who = fmt.Sprintf("all fronts at most %d a second", e.Rate)
	}
	return fmt.Sprintf("%v: %s, %s, for %v", e.At, e.Action.name, who, e.For)
}

// Actions returns the actions of these names, and all without a name.
func Actions(names []string) (chosen []*Action, err error) {
	if len(names) == 0 {
		return actions, nil
	}
	for _, name := range names {
		i := slices.IndexFunc(actions, func(a *Action) bool { return a.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no fault %q", name)
		}
		chosen = append(chosen, actions[i])
	}
	return chosen, nil
}

// Plan returns what happens during a run. The same arguments give the same plan.
//
// Each action happens once before any does again, so that short runs see all of them. The first and last tenth of the
// run are quiet: clients connect in the one, and what is under way ends in the other. So is the time that a member needs to come
// back.
func Plan(seed uint64, duration time.Duration, members int, actions []*Action) []Event {
	random := rand.New(rand.NewPCG(seed, uint64(members)))
	between := func(low, high time.Duration) time.Duration {
		return (low + time.Duration(random.Float64()*float64(high-low))).Round(time.Millisecond)
	}
	var events []Event
	var bag []*Action
	end := duration - duration/10
	for at := duration / 10; ; at += between(500*time.Millisecond, 1500*time.Millisecond) {
		if len(bag) == 0 {
			bag = slices.Clone(actions)
			random.Shuffle(len(bag), func(i, j int) { bag[i], bag[j] = bag[j], bag[i] })
		}
		a := bag[0]
		bag = bag[1:]
		e := Event{At: at, For: between(a.least, a.most), Action: a, Member: random.IntN(members),
			Primary: random.Float64() < a.primary}
		if rate := a.requests + a.connections; rate > 0 {
			e.Rate = rate + random.IntN(rate)
		}
		if e.At+e.For > end {
			return events
		}
		events = append(events, e)
		if at += e.For; a.ofMember {
			at += recovery
		}
	}
}
