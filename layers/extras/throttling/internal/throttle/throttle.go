// Package throttle decides which attempts of a client to withhold from a server that would most likely reject them. It is what
// adaptiveThrottling, set or not, adds to the specification's retries, and docs/throttling.md has the rule with a reason for each number.
//
// One Throttle belongs to one server of one client, which asks it before an attempt, and tells it after. It knows no type of the driver.
package throttle

import (
	"math"
	"sync/atomic"
	"time"
)

// Attempt is what a Throttle has to know of an attempt to send a command.
type Attempt struct {
	Class int8 // -1 if it is sheddable, 1 if it is critical
	Write bool // reads and writes are judged apart, as a server may reject one of them
	First bool // of its command, or after errors other than rejections
	// Continues is whether the server holds a cursor for the command.
	Continues bool
	// Routed is whether the server stands for others, of which perhaps only one is overloaded.
	Routed bool
	// Left is the time left for a reply, or as much as there can be.
	Left time.Duration
}

// Decision is what to do with an attempt.
type Decision uint8

const (
	// Send is to make the attempt.
	Send Decision = iota
	// Withhold is to let the attempt fail, as if the server had rejected it.
	Withhold
	// GiveUp is to withhold the attempt, after which there is no use in another: the overload has lasted for too long.
	GiveUp
	// TooLate is to make neither this retry nor another, because the reply would come too late.
	TooLate
)

// Scope is what a client withholds.
type Scope uint8

const (
	// Nothing is withheld.
	Nothing Scope = iota
	// Retries are withheld once an overload lasts, and their commands end.
	Retries
	// All attempts are withheld, and most are retried.
	All
)

// Throttle decides for one server of a client. As long as the server rejects nothing, attempts only read a flag. It is safe for concurrent
// use if its clock and its random source are. A nil Throttle sends everything.
type Throttle struct {
	now    func() time.Time
	random func() float64
	scope  Scope

	_      [64]byte       // all commands read the flags; what changes should not share their cache line
	active [2]atomic.Bool // of reads and of writes: there is a rejection not yet forgotten
	_      [64]byte

	known [2]knowledge
}

// New returns the throttle of a server that has rejected nothing. random returns numbers in [0, 1).
func New(now func() time.Time, random func() float64, scope Scope) *Throttle {
	return &Throttle{now: now, random: random, scope: scope}
}

// Scope returns what the client withholds.
func (t *Throttle) Scope() Scope { return t.scope }

// Decide decides about an attempt. One that it does not send has ended; the end of others is for Ended.
func (t *Throttle) Decide(a Attempt) Decision {
	if t == nil || !t.active[a.side()].Load() {
		return Send
	}
	now, draw := t.now(), t.random() // which may take locks of their own, so before ours
	k := t.look(a.side(), now)
	defer k.mu.Unlock()
	if !t.active[a.side()].Load() {
		return Send // it was forgotten just now
	}
	d := k.decideIn(t.scope, a, now, draw)
	if d == Send {
		k.sent = now
	} else {
		k.count(a, 0, 0)
		k.press(now)
	}
	return d
}

// Ended records the end of an attempt that was sent: whether the server rejected it, and how long it took to reply, or 0 if that says
// nothing of others.
func (t *Throttle) Ended(a Attempt, rejected bool, took time.Duration) {
	if t == nil || (!rejected && !t.active[a.side()].Load()) {
		return
	}
	now := t.now()
	k := t.look(a.side(), now)
	defer k.mu.Unlock()
	switch {
	case rejected:
		if !t.active[a.side()].Swap(true) {
			k.begin(t.scope, now)
		}
		k.rejected = now
		k.press(now)
		k.count(a, 1, 0)
	case t.active[a.side()].Load(): // it was not forgotten meanwhile
		k.accept(a, took)
		k.count(a, 1, 1)
	}
}

// Refused records that the server refused a connection, whatever for: it counts for reads and for writes.
func (t *Throttle) Refused() {
	t.Ended(Attempt{First: true}, true, 0)
	t.Ended(Attempt{First: true, Write: true}, true, 0)
}

// State returns which share of the reads or of the writes is withheld at present, below 1 because something is sent each second, and which
// share of those that were sent the server recently accepted.
func (t *Throttle) State(write bool) (withheld, accepted float64) {
	a := Attempt{Write: write}
	if t == nil || !t.active[a.side()].Load() {
		return 0, 1
	}
	now := t.now()
	k := t.look(a.side(), now)
	defer k.mu.Unlock()
	if !t.active[a.side()].Load() {
		return 0, 1
	}
	if k.begun >= few {
		withheld = 1 - math.Pow(k.sendable(k.all, now), exponent)
	}
	return math.Min(withheld, math.Nextafter(1, 0)), k.all.accepted / math.Max(k.all.sent, math.SmallestNonzeroFloat64) // not 0/0
}

// look locks what is known of reads or of writes, with present weights, and forgets it if the last rejection is long ago.
func (t *Throttle) look(side int, now time.Time) *knowledge {
	k := &t.known[side]
	k.mu.Lock()
	if t.active[side].Load() && now.Sub(k.rejected) > memory {
		t.active[side].Store(false)
	}
	k.decay(now)
	return k
}

func (a Attempt) side() int {
	if a.Write {
		return 1
	}
	return 0
}
