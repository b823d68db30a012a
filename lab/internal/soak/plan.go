package soak

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	// recovery is the time that members have to agree on a primary, or to come back, before the next event.
	recovery = 2 * time.Second
	// commitHold is the time for which commits are held before the primary is killed.
	commitHold = 300 * time.Millisecond
)

// Action is a fault of a deployment.
type Action string

// The actions.
const (
	// Kill ends a member with SIGKILL and finally restarts it on its data.
	Kill Action = "kill"
	// CommitKill is Kill of the primary while commits are held on their way to it, and replies on their way back.
	CommitKill Action = "kill at commits"
	// Pause stops a member with SIGSTOP and finally continues it.
	Pause Action = "pause"
	// Isolate cuts a member off from the others; clients reach all.
	Isolate Action = "isolate"
	// StepDown makes the primary a secondary; another member is elected.
	StepDown Action = "step-down"

	// Overload limits the rate of requests of all fronts.
	Overload Action = "overload"
	// ConnectionLimit limits the rate of new connections of all fronts, and resets those of one.
	ConnectionLimit Action = "connection limit"
	// Rejections lets all fronts reject some of the requests.
	Rejections Action = "rejections"
	// Reset resets the connections of a front, and each new one.
	Reset Action = "reset"
	// Silent leaves the requests to a front unanswered, and so cuts clients off from a member.
	Silent Action = "silent"
)

var actions = [...]Action{Kill, Overload, Isolate, StepDown, Rejections, CommitKill, Silent, ConnectionLimit, Pause, Reset}

// Event is an action at a time.
type Event struct {
	At      time.Duration // since the start
	Action  Action
	Member  int           // which member, or its fronts; actions upon all of them do without
	Primary bool          // it happens to the primary at that time, or to Member if there is none
	For     time.Duration // ends after that; StepDown ends by itself
	Rate    int32         // requests or connections a second, of the two limits
}

// ofMember reports whether the event happens to a member, not to its fronts.
func (e Event) ofMember() bool {
	return slices.Contains([]Action{Kill, CommitKill, Pause, Isolate, StepDown}, e.Action)
}

func (e Event) String() string {
	who := fmt.Sprintf("member %d", e.Member)
	switch {
	case e.Primary:
		who = "the primary"
	case e.Action == Overload || e.Action == Rejections:
		who = "all fronts"
	}
	text := fmt.Sprintf("%v: %s, %s, for %v", e.At, e.Action, who, e.For)
	if e.Rate > 0 {
		text += fmt.Sprintf(", at most %d a second", e.Rate)
	}
	return text
}

// Plan returns what happens during a run. The same seed, duration and number of members give the same plan.
//
// Each action happens once before any does again, so that short runs see all of them. The first and last tenth of the
// run are quiet: clients connect in the one, and what is under way ends in the other. So is the time that a member needs to come
// back.
func Plan(seed uint64, duration time.Duration, members int) []Event {
	random := rand.New(rand.NewPCG(seed, uint64(members)))
	between := func(low, high time.Duration) time.Duration {
		return (low + time.Duration(random.Float64()*float64(high-low))).Round(time.Millisecond)
	}
	var events []Event
	var bag []Action
	end := duration - duration/10
	for at := duration / 10; ; at += between(500*time.Millisecond, 1500*time.Millisecond) {
		if len(bag) == 0 {
			bag = append(bag, actions[:]...)
			random.Shuffle(len(bag), func(i, j int) { bag[i], bag[j] = bag[j], bag[i] })
		}
		e := Event{At: at, Action: bag[0], Member: random.IntN(members)}
		bag = bag[1:]
		switch e.Action {
		case Overload:
			e.For, e.Rate = between(time.Second, 3*time.Second), int32(50+random.IntN(200))
		case ConnectionLimit:
			e.For, e.Rate = between(500*time.Millisecond, 1500*time.Millisecond), int32(5+random.IntN(20))
		case StepDown:
		case Rejections:
			e.For = between(time.Second, 3*time.Second)
		case Kill, CommitKill, Pause, Isolate:
			e.For, e.Primary = between(1500*time.Millisecond, 5*time.Second), e.Action == CommitKill || random.IntN(3) > 0
		default:
			e.For = between(100*time.Millisecond, time.Second)
			e.Primary = random.IntN(2) > 0
			if e.Action == Silent {
				e.For = between(500*time.Millisecond, 6*time.Second) // clients find out, and look elsewhere
			}
		}
		if e.At+e.For > end {
			return events
		}
		events = append(events, e)
		at += e.For
		if e.ofMember() {
			at += recovery
		}
	}
}
