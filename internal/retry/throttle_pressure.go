package retry

import "time"

// felt records an attempt that was rejected or held back. After a calm another overload begins.
func (k *throttleKnowledge) felt(now time.Time, rule Floor) {
	if since := now.Sub(k.pressed); since > shortestCalm && since > 2*k.gap {
		k.began = now
		k.floor.again(rule)
	}
	k.pressed = now
}

// Lasts reports whether to fail a command whose retry was held back, given a random number in [0, 1): in an overload that lasts, unless
// K has begun to grow. Otherwise commands would pile up; and if all failed at once, less would be sent than the server accepts.
func (t *Throttle) Lasts(a Attempt, draw float64) bool {
	if a.First || !t.Active() {
		return false
	}
	now := t.lock()
	defer t.mu.Unlock()
	k := &t.known
	if t.yields(a) || now.Sub(k.rejected) > 2*t.rule.patience(k.gap) {
		return false
	}
	return draw*float64(2*t.rule.Brief) < float64(now.Sub(k.began)-t.rule.Brief)
}

// Spares reports whether an attempt that was held back need not count to the limit of retries: if less critical work is there to give
// way, and in a burst of a client that makes few retries, or knows little of how much is accepted.
func (t *Throttle) Spares(a Attempt, limit Limit) bool {
	if !t.Active() {
		return false
	}
	now := t.lock()
	defer t.mu.Unlock()
	brief := now.Sub(t.known.began) < t.rule.Brief
	worth := t.known.all.accepted >= t.rule.Worth*t.known.all.attempts
	return t.yields(a) || (brief && worth && (limit < mostSpared || t.pace.gap > t.rule.Some))
}

// yields reports whether less critical work is there to give way to a critical attempt.
func (t *Throttle) yields(a Attempt) bool { return a.Criticality == Critical && t.known.inClasses() }
