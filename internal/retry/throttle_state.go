package retry

import (
	"math"
	"time"
)

// ThrottleState is a Throttle's view of its server.
type ThrottleState struct {
	// Probability is the share, below 1, of attempts to hold back, over all classes; of first attempts fewer, see Throttle.Admits.
	Probability float64
	// Rejected is the share of recent attempts that were rejected, or held back because others were.
	Rejected float64
	// ReplyTime is how long the server recently took for what it accepted. A retry for which less time is left is of no use.
	ReplyTime time.Duration
}

// State returns the present view of the server.
func (t *Throttle) State() ThrottleState {
	if !t.Active() {
		return ThrottleState{}
	}
	now := t.lock()
	defer t.mu.Unlock()
	all := t.known.all
	return ThrottleState{
		Probability: t.excess(now, false) / (all.attempts + 1),
		Rejected:    (all.attempts - all.accepted) / math.Max(all.attempts, math.SmallestNonzeroFloat64),
		ReplyTime:   t.known.took,
	}
}

// excess returns how many of the recent attempts are too many for the server. First attempts are judged by first attempts: of a few
// commands that are always rejected, only the retries are too many. With classes, lower ones give way to retries, too.
func (t *Throttle) excess(now time.Time, first bool) float64 {
	attempts, accepted := t.known.all.attempts, t.known.all.accepted
	if attempts == 0 {
		return 0
	}
	if f := t.known.firsts; first && f.attempts > 0 && !t.known.inClasses() {
		accepted = f.accepted * attempts / f.attempts
	}
	return math.Max(0, attempts-t.slack(now)*accepted)
}

// slack returns the present K.
func (t *Throttle) slack(now time.Time) float64 {
	patience := t.rule.patience(t.known.gap)
	grown := math.Max(0, float64(now.Sub(t.known.rejected)-patience)/float64(2*patience))
	return t.rule.Slack * math.Exp(grown)
}

// patience returns how long K stays constant after a rejection, for a client that sends an attempt in each gap.
func (r Throttling) patience(gap time.Duration) time.Duration {
	patience := math.Max(float64(r.Patience)*float64(gap), float64(r.ShortestPatience))
	return time.Duration(math.Min(patience, float64(r.LongestPatience)))
}

// probability returns the probability of holding back an attempt. What is too much is taken from the lowest class first.
func (t *Throttle) probability(now time.Time, a Attempt) float64 {
	own := a.Criticality.class()
	return share(t.excess(now, a.First), t.known.classes[:own], t.known.classes[own])
}

// spared returns the share of the first attempts of a class that is always sent. The floor is filled from the highest class, and so
// is the reserve, as far as there is less critical work in its place.
func (t *Throttle) spared(c Criticality) float64 {
	attempts := t.known.all.attempts
	own := c.class()
	floor := t.rule.Floor.Least * (attempts + 1)
	reserve := math.Min(t.rule.Floor.Reserve*t.known.floor.reserve*attempts, attemptsOf(t.known.classes[:own]))
	risen := t.known.floor.share - t.rule.Floor.Least
	return math.Min(1, risen+share(math.Max(floor, reserve), t.known.classes[own+1:], t.known.classes[own]))
}

// count counts the end of an attempt.
func (t *Throttle) count(a Attempt, accepted bool, now time.Time) {
	k := &t.known
	k.all.add(accepted)
	if a.First {
		k.firsts.add(accepted)
		t.pace.ended(now)
	}
	if !a.Kept {
		k.classes[a.Criticality.class()].add(accepted)
	}
}

// inClasses reports whether there are recent attempts of several classes.
func (k *throttleKnowledge) inClasses() bool {
	n := 0
	for _, c := range k.classes {
		if c.attempts >= 1 {
			n++
		}
	}
	return n > 1
}

// share returns which share of a class's attempts, with the next one, is chosen if so many are, those of others before its own.
func share(chosen float64, before []counts, own counts) float64 {
	return math.Min(1, math.Max(0, (chosen-attemptsOf(before))/(own.attempts+1)))
}

// attemptsOf returns the attempts of some classes.
func attemptsOf(classes []counts) (attempts float64) {
	for _, c := range classes {
		attempts += c.attempts
	}
	return attempts
}
