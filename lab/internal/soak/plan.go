package soak

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Action is something bad that happens to a deployment.
type Action string

// The actions that there are.
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
	// Silent leaves the requests of a front unanswered.
	Silent Action = "silent"
)

var actions = [...]Action{Overload, ConnectionLimit, StepDown, Reset, Slow, Silent}

// Event is an action at a time.
type Event struct {
	At     time.Duration // since the start
	Action Action
	Front  int           // which front; actions upon all of them do without
	For    time.Duration // ends after that; StepDown ends by itself
	Rate   float64       // requests or connections a second, of the two limits
}

func (e Event) String() string {
	switch e.Action {
	case Overload:
		return fmt.Sprintf("%v: at most %.0f requests a second for %v", e.At, e.Rate, e.For)
	case ConnectionLimit:
		return fmt.Sprintf("%v: at most %.0f connections a second for %v, front %d reset", e.At, e.Rate, e.For, e.Front)
	case StepDown:
		return fmt.Sprintf("%v: %s", e.At, e.Action)
	default:
		return fmt.Sprintf("%v: front %d is %s for %v", e.At, e.Front, e.Action, e.For)
	}
}

// Plan returns what happens during a run. The same seed, duration and number of fronts give the same plan.
//
// Each action happens once before any does again, so that short runs see all of them. The first and last tenth of the
// run are quiet: clients connect in the one, and what is under way ends in the other.
func Plan(seed uint64, duration time.Duration, fronts int) []Event {
	random := rand.New(rand.NewPCG(seed, uint64(fronts)))
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
		e := Event{At: at, Action: bag[0], Front: random.IntN(fronts)}
		bag = bag[1:]
		switch e.Action {
		case Overload:
			e.For, e.Rate = between(time.Second, 3*time.Second), float64(50+random.IntN(200))
		case ConnectionLimit:
			e.For, e.Rate = between(500*time.Millisecond, 1500*time.Millisecond), float64(5+random.IntN(20))
		case StepDown:
		default:
			e.For = between(100*time.Millisecond, time.Second)
		}
		if e.At+e.For > end {
			return events
		}
		events = append(events, e)
		at += e.For
	}
}
