package soak

import (
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// rejectedShare is the share of requests that fail points reject.
	rejectedShare = 0.4
	// recovery is the time that real members have to agree on a primary, or to come back, before the next event.
	recovery = 2 * time.Second
	// CommitHold is the time for which commits are held before the primary is killed.
	CommitHold = 300 * time.Millisecond
)

// Action is a fault of a deployment.
type Action string

// The actions.
const (
	// Overload limits the rate of requests of all fronts.
	Overload Action = "overload"
	// ConnectionLimit limits the rate of new connections of all fronts, and resets those of one.
	ConnectionLimit Action = "connection limit"
	// StepDown makes the primary a secondary; another member is elected.
	StepDown Action = "step-down"
	// Reset resets the connections of a front, and each new one.
	Reset Action = "reset"
	// Slow delays the requests of a front.
	Slow Action = "slow"
	// Silent leaves the requests to a front unanswered, and so cuts clients off from a member.
	Silent Action = "silent"
	// Rejections lets all fronts reject some of the requests by fail points.
	Rejections Action = "rejections"

	// These, and StepDown there, happen to real members.

	// Kill ends a member with SIGKILL and finally restarts it on its data.
	Kill Action = "kill"
	// CommitKill is Kill of the primary while commits are held on their way to it, and replies on their way back.
	CommitKill Action = "kill at commits"
	// Pause stops a member with SIGSTOP and finally continues it.
	Pause Action = "pause"
	// Isolate cuts a member off from the others; clients reach all.
	Isolate Action = "isolate"
)

var (
	// madeActions are for a replica set simulated on one server, realActions for real members.
	madeActions = []Action{Overload, ConnectionLimit, StepDown, Reset, Slow, Silent}
	realActions = []Action{
		Kill, Overload, Isolate, StepDown, Rejections, CommitKill, Silent, ConnectionLimit, Pause, Reset, Slow,
	}
)

// Event is an action at a time.
type Event struct {
	At      time.Duration // since the start
	Action  Action
	Front   int           // which front, or member; actions upon all of them do without
	Primary bool          // it happens to the primary at that time, or to Front if there is none
	For     time.Duration // ends after that; StepDown ends by itself
	Rate    float64       // requests or connections a second, of the two limits
}

// OfMember reports whether the event happens to a real member, not to a front.
func (e Event) OfMember() bool {
	switch e.Action {
	case Kill, CommitKill, Pause, Isolate, StepDown:
		return true
	default:
		return false
	}
}

// who names the target of an event.
func (e Event) who() string {
	if e.Primary {
		return "the primary"
	}
	return fmt.Sprintf("member %d", e.Front)
}

func (e Event) String() string {
	switch e.Action {
	case Rejections:
		return fmt.Sprintf("%v: %.0f %% of the requests are rejected for %v", e.At, 100*rejectedShare, e.For)
	case Kill:
		return fmt.Sprintf("%v: %s is killed, and back after %v", e.At, e.who(), e.For)
	case CommitKill:
		return fmt.Sprintf("%v: the primary is killed while transactions commit, and back after %v", e.At, e.For)
	case Pause:
		return fmt.Sprintf("%v: %s stops for %v", e.At, e.who(), e.For)
	case Isolate:
		return fmt.Sprintf("%v: %s is cut off from the others for %v", e.At, e.who(), e.For)
	case Overload:
		return fmt.Sprintf("%v: at most %.0f requests a second for %v", e.At, e.Rate, e.For)
	case ConnectionLimit:
		return fmt.Sprintf("%v: at most %.0f connections a second for %v, front %d reset", e.At, e.Rate, e.For, e.Front)
	case StepDown:
		return fmt.Sprintf("%v: %s", e.At, e.Action)
	default:
		if e.Primary {
			return fmt.Sprintf("%v: the front of the primary is %s for %v", e.At, e.Action, e.For)
		}
		return fmt.Sprintf("%v: front %d is %s for %v", e.At, e.Front, e.Action, e.For)
	}
}

// Plan returns what happens during a run on a replica set that is made of one server. The same seed, duration and number of
// fronts give the same plan.
//
// Each action happens once before any does again, so that short runs see all of them. The first and last tenth of the
// run are quiet: clients connect in the one, and what is under way ends in the other.
func Plan(seed uint64, duration time.Duration, fronts int) []Event {
	return plan(seed, duration, fronts, madeActions, false)
}

// RealPlan is Plan for real members. The time that a member needs to come back is quiet, too.
func RealPlan(seed uint64, duration time.Duration, members int) []Event {
	return plan(seed, duration, members, realActions, true)
}

func plan(seed uint64, duration time.Duration, fronts int, actions []Action, real bool) []Event {
	random := rand.New(rand.NewPCG(seed, uint64(fronts)))
	between := func(low, high time.Duration) time.Duration {
		return (low + time.Duration(random.Float64()*float64(high-low))).Round(time.Millisecond)
	}
	var events []Event
	var bag []Action
	end := duration - duration/10
	for at := duration / 10; ; at += between(500*time.Millisecond, 1500*time.Millisecond) {
		if len(bag) == 0 {
			bag = append(bag, actions...)
			random.Shuffle(len(bag), func(i, j int) { bag[i], bag[j] = bag[j], bag[i] })
		}
		e := Event{At: at, Action: bag[0], Front: random.IntN(fronts)}
		bag = bag[1:]
		switch e.Action {
		case Overload:
			e.For, e.Rate = between(time.Second, 3*time.Second), float64(50+random.IntN(200))
		case ConnectionLimit:
			e.For, e.Rate = between(500*time.Millisecond, 1500*time.Millisecond), float64(5+random.IntN(20))
		case StepDown:
		case Rejections:
			e.For = between(time.Second, 3*time.Second)
		case Kill, CommitKill, Pause, Isolate:
			e.For, e.Primary = between(1500*time.Millisecond, 5*time.Second), e.Action == CommitKill || random.IntN(3) > 0
		default:
			e.For = between(100*time.Millisecond, time.Second)
			if real {
				e.Primary = random.IntN(2) > 0
			}
			if real && e.Action == Silent {
				e.For = between(500*time.Millisecond, 6*time.Second) // clients find out, and look elsewhere
			}
		}
		if e.At+e.For > end {
			return events
		}
		events = append(events, e)
		at += e.For
		if e.OfMember() && real {
			at += recovery
		}
	}
}
