package retry

import (
	"math"
	"time"
)

// Ended records the end of an attempt that was sent, and whether the server rejected it.
func (t *Throttle) Ended(a Attempt, rejected bool) {
	if t == nil || (!rejected && !t.Active()) {
		return
	}
	now := t.lock()
	defer t.mu.Unlock()
	k, usual := &t.known, 1-1/t.slack(now)
	switch {
	case !rejected && !t.active.Load():
		return // it was forgotten meanwhile
	case !rejected:
		k.accepted(a)
	default:
		if !t.active.Load() {
			k.sent, t.pace.last, k.floor = now, now, t.rule.Floor.start()
			t.active.Store(true)
		}
		k.rejected = now
		k.felt(now, t.rule.Floor)
	}
	t.count(a, !rejected, now)
	k.commands.add(a.Command, !rejected, now, t.rule.Exemption)

	elapsed := time.Duration(math.Max(0, float64(now.Sub(k.sent)))) // a clock may go back
	k.sent = now
	k.gap += (elapsed - k.gap) / gapSample
	lasts := now.Sub(k.began) >= t.rule.Lasting || k.floor.rising > 0
	k.floor.learn(t.rule.Floor, sample{accepted: !rejected, first: a.First, usual: usual, lasts: lasts}, elapsed)
	if lasts {
		k.floor.move(t.rule.Floor, k.inClasses(), elapsed)
	}
}

// accepted records what that says of the server, and pays tokens.
func (k *throttleKnowledge) accepted(a Attempt) {
	k.tokens.accepted(a.First)
	if a.Took > 0 && k.took == 0 {
		k.took = a.Took
	} else if a.Took > 0 {
		k.took += (a.Took - k.took) / tookSample
	}
}

// counts are the weights of attempts, and of those among them that the server accepted.
type counts struct {
	attempts, accepted float64
	at                 time.Time // when the weights had these values
}

func (c *counts) add(accepted bool) {
	c.attempts++
	if accepted {
		c.accepted++
	}
}

// decay lowers the weights, which fall to 1/e in the time of the memory, to those of now.
func (c *counts) decay(now time.Time, memory time.Duration) {
	if elapsed := now.Sub(c.at); elapsed > 0 {
		weight := math.Exp(-float64(elapsed) / float64(memory))
		c.attempts *= weight
		c.accepted *= weight
		c.at = now
	}
}
