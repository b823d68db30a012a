package retry

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Throttling is the rule by which a client holds back attempts from a server that would most likely reject them: the adaptive
// throttling of the book "Site Reliability Engineering", chapter "Handling Overload", with a multiplier that recovers and a
// floor. It counts the attempts at a server and those that the server accepted, with weights that decay, and refuses an attempt
// with the probability
//
//	(attempts - K*accepted) / (attempts + 1)
//
// docs/throttling.md says why.
type Throttling struct {
	// Slack is K after a rejection, above 1. The client sends that many times what is accepted, and so notices when the server
	// accepts more.
	Slack float64
	// Patience is how long K stays constant after a rejection. After that it grows by the factor e per Recovery.
	Patience, Recovery time.Duration
	// Memory is the time in which the weight of an attempt falls to 1/e.
	Memory time.Duration
	// Floor is the share, below 1, of the first attempts of commands that is always sent. It bounds what a client loses to others
	// that don't throttle.
	Floor float64
}

// DefaultThrottling returns the rule of adaptiveThrottling.
func DefaultThrottling() Throttling {
	return Throttling{
		Slack:    1.1,
		Patience: 300 * time.Millisecond,
		Recovery: 600 * time.Millisecond,
		Memory:   time.Second,
		Floor:    0.25,
	}
}

// Spares reports whether a first attempt that all suitable servers refuse is sent nevertheless, given the random number in [0, 1)
// for which the first of the servers refused it.
func (r Throttling) Spares(first bool, draw float64) bool {
	return first && draw >= 1-r.Floor
}

// forgottenAfter is how many times the longest of Patience, Recovery and Memory it takes to forget a rejection. Counts then have
// the weight e^-8, too little to refuse anything.
const forgottenAfter = 8

// Throttle decides for one server of a client which attempts to hold back. As long as the server rejects nothing, commands only
// read a flag: nothing is counted or refused, and no clock is read.
//
// It is safe for concurrent use. A nil Throttle refuses nothing.
type Throttle struct {
	rule Throttling
	now  func() time.Time

	_      [cacheLine]byte // all commands read the flag; what changes should not share its cache line
	active atomic.Bool     // there is a rejection not yet forgotten
	_      [cacheLine]byte

	mu       sync.Mutex
	attempts float64   // the weight of the attempts that have ended, including refused ones
	accepted float64   // the weight of those not rejected
	updated  time.Time // when the weights had these values
	rejected time.Time // the last rejection
}

// NewThrottle returns the throttle of a server that has rejected nothing. now tells the time.
func NewThrottle(rule Throttling, now func() time.Time) *Throttle {
	return &Throttle{rule: rule, now: now}
}

// Active reports whether the server has rejected anything not yet forgotten. If not, nothing is refused.
func (t *Throttle) Active() bool { return t != nil && t.active.Load() }

// Refuses reports whether to refuse an attempt, given a random number in [0, 1).
func (t *Throttle) Refuses(draw float64) bool {
	return t.Active() && draw < t.State().Probability
}

// Refused records an attempt that was refused.
func (t *Throttle) Refused() {
	if t.Active() {
		t.count(1, 0)
	}
}

// Ended records the end of an attempt that was sent, and whether the server rejected it.
func (t *Throttle) Ended(rejected bool) {
	if (rejected && t != nil) || t.Active() {
		t.ended(rejected)
	}
}

// ThrottleState is a Throttle's view of its server.
type ThrottleState struct {
	// Probability is the probability, below 1, of refusing an attempt. First attempts are refused less often, see
	// Throttling.Spares.
	Probability float64
	// Rejected is the share of recent attempts that were rejected, or refused because others were.
	Rejected float64
}

// State returns the present view of the server.
func (t *Throttle) State() ThrottleState {
	if !t.Active() {
		return ThrottleState{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()

	since := t.decay().Sub(t.rejected)
	if t.attempts == 0 {
		return ThrottleState{}
	}
	grown := math.Max(0, float64(since-t.rule.Patience)/float64(t.rule.Recovery))
	k := t.rule.Slack * math.Exp(grown)
	return ThrottleState{
		Probability: math.Max(0, (t.attempts-k*t.accepted)/(t.attempts+1)),
		Rejected:    1 - t.accepted/t.attempts,
	}
}

func (t *Throttle) count(attempts, accepted float64) {
	t.mu.Lock()
	defer t.mu.Unlock()

	t.decay()
	t.attempts += attempts
	t.accepted += accepted
}

func (t *Throttle) ended(rejected bool) {
	if !rejected {
		t.count(1, 1)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()

	t.rejected = t.decay()
	t.attempts++
	t.active.Store(true)
}

// decay lowers the weights to their present values, and returns the time.
func (t *Throttle) decay() time.Time {
	now := t.now()
	if elapsed := now.Sub(t.updated); elapsed > 0 {
		weight := math.Exp(-float64(elapsed) / float64(t.rule.Memory))
		t.attempts *= weight
		t.accepted *= weight
		t.updated = now
	}
	if now.Sub(t.rejected) > t.rule.forgets() {
		t.attempts, t.accepted = 0, 0
		t.active.Store(false)
	}
	return now
}

// forgets returns how long after the last rejection everything is forgotten.
func (r Throttling) forgets() time.Duration {
	longest := r.Memory
	for _, d := range []time.Duration{r.Patience, r.Recovery} {
		if d > longest {
			longest = d
		}
	}
	return forgottenAfter * longest
}
