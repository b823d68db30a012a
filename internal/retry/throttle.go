package retry

import (
	"sync"
	"sync/atomic"
	"time"
)

// Throttling is the rule by which a client holds back attempts from a server that would most likely reject them: with weights that decay,
// the share (attempts - K*accepted) / (attempts + 1), the least critical first.
type Throttling struct {
	// Slack is K after a rejection, above 1: the client sends that many times what is accepted, to notice when more is.
	Slack float64
	// Patience is how long K stays constant after a rejection, in attempts sent meanwhile, within the bounds below: a client that
	// sends little learns slowly. After that, K grows by the factor e in each two times that long.
	Patience                          int
	ShortestPatience, LongestPatience time.Duration
	// Memory is the time in which the weight of an attempt falls to 1/e.
	Memory time.Duration
	// Brief is how long a burst takes. After that, a growing share of what is held back again fails, all after three times as long.
	Brief time.Duration
	// Worth is the share of accepted attempts from which on refusals in a burst need not count, see Spares.
	Worth float64
	// Lasting is how long an overload takes until the floor learns from it.
	Lasting time.Duration
	// Little is the gap between commands above which retries need tokens and first attempts are sent; Some that for Spares.
	Little, Some time.Duration
	// Floor is the share of the first attempts of commands that is always sent.
	Floor Floor
	// Exemption is for commands that the server accepts while it rejects others.
	Exemption Exemption
}

// DefaultThrottling returns the rule of adaptiveThrottling.
func DefaultThrottling() Throttling {
	return Throttling{
		Slack: 1.1, Patience: 4, ShortestPatience: 300 * time.Millisecond, LongestPatience: time.Second,
		Memory: 3 * time.Second, Brief: 2 * time.Second, Worth: 0.1, Lasting: 3 * time.Second,
		Little: 1400 * time.Millisecond, Some: 500 * time.Millisecond,
		Floor: defaultFloor(), Exemption: defaultExemption(),
	}
}

const (
	forgottenAfter = 8           // times the Memory, a rejection is forgotten: a weight of e^-8 holds nothing back
	gapSample      = 20          // attempts after it, the weight of the gap before one falls to 1/e
	tookSample     = 8           // accepted attempts after it, that of one's reply time does
	shortestCalm   = time.Second // without pressure, an overload has ended, unless two gaps between attempts are longer
)

// Attempt is an attempt to send a command, as a Throttle sees it.
type Attempt struct {
	Criticality Criticality
	Command     Command
	First       bool // of its command
	// Kept is whether it is sent in any case. It is counted, and what is too much is taken from the others.
	Kept bool
	// Took is how long the server took for its reply, once that is known; 0 if it says nothing of others.
	Took time.Duration
}

// Throttle decides for one server of a client which attempts to hold back. As long as the server rejects nothing, commands only
// read a flag. It is safe for concurrent use. A nil Throttle holds nothing back.
type Throttle struct {
	rule Throttling
	now  func() time.Time

	_      [cacheLine]byte // all commands read the flag; what changes should not share its cache line
	active atomic.Bool     // there is a rejection not yet forgotten
	_      [cacheLine]byte

	mu    sync.Mutex
	known throttleKnowledge
	pace  pace // of the client, which an overload's end does not change
}

// throttleKnowledge is what a Throttle knows of its server since the first rejection.
type throttleKnowledge struct {
	all      counts          // the attempts that have ended, including those held back
	firsts   counts          // of these, the first of their commands
	classes  [classes]counts // of all, those that can be held back
	rejected time.Time       // the last rejection
	began    time.Time       // the overload, with an attempt that was rejected or held back
	pressed  time.Time       // the last such attempt
	sent     time.Time       // the end of the last attempt that was sent
	gap      time.Duration   // between these ends, recently
	took     time.Duration   // what the server accepted, recently
	tokens   tokens
	floor    floorState
	commands commandCounts
}

// NewThrottle returns the throttle of a server that has rejected nothing. now tells the time.
func NewThrottle(rule Throttling, now func() time.Time) *Throttle {
	return &Throttle{rule: rule, now: now, pace: unknownPace}
}

// Active reports whether the server has rejected anything not yet forgotten. If not, nothing is held back.
func (t *Throttle) Active() bool { return t != nil && t.active.Load() }

// HoldsBack reports whether to hold back an attempt, given a random number in [0, 1).
func (t *Throttle) HoldsBack(a Attempt, draw float64) bool {
	if a.Kept || !t.Active() {
		return false
	}
	now := t.lock()
	defer t.mu.Unlock()
	if t.pace.gap > t.rule.Little {
		return !a.First && !t.known.tokens.pay()
	}
	return draw < t.probability(now, a) && !t.known.commands.exempts(a.Command, now, t.rule.Exemption)
}

// Admits reports whether an attempt that is held back from all suitable servers is sent nevertheless, given the random number for which
// this one, the first of them, held it back.
func (t *Throttle) Admits(a Attempt, draw float64) bool {
	if !a.First || !t.Active() {
		return false
	}
	t.lock()
	defer t.mu.Unlock()
	return draw >= 1-t.spared(a.Criticality)
}

// HeldBack records an attempt that was held back.
func (t *Throttle) HeldBack(a Attempt) {
	if !t.Active() {
		return
	}
	now := t.lock()
	defer t.mu.Unlock()
	t.count(a, false, now)
	t.known.felt(now, t.rule.Floor)
}

// lock begins a look at what is known, as of the time that it returns: with present weights, or nothing.
func (t *Throttle) lock() time.Time {
	t.mu.Lock()
	now := t.now()
	if t.active.Load() && now.Sub(t.known.rejected) > forgottenAfter*t.rule.Memory {
		t.known = throttleKnowledge{}
		t.active.Store(false)
	}
	t.known.all.decay(now, t.rule.Memory)
	t.known.firsts.decay(now, t.rule.Memory)
	for i := range t.known.classes {
		t.known.classes[i].decay(now, t.rule.Memory)
	}
	return now
}
