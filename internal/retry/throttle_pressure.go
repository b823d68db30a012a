package retry

import "time"

// pressure is for how long an overload has been noticed.
type pressure struct {
	began time.Time // with the first attempt that was rejected or held back
	last  time.Time // such attempt
}

// shortestCalm is the time without pressure after which an overload has ended, unless two gaps between attempts are longer.
const shortestCalm = time.Second

// felt records an attempt that was rejected or held back, of a client that sends an attempt in each gap.
func (p *pressure) felt(now time.Time, gap time.Duration) {
	if since := now.Sub(p.last); since > shortestCalm && since > 2*gap {
		p.began = now
	}
	p.last = now
}

// Lasts reports whether to fail a command whose retry was held back, because the overload has lasted, and the server does not
// accept more of late: K does not grow, nor has it just begun to. Otherwise the commands of a client would pile up.
func (t *Throttle) Lasts(a Attempt) bool {
	if a.First || a.Criticality == Critical || !t.Active() {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()

	now := t.decay()
	k := &t.known
	return now.Sub(k.rejected) <= 2*t.rule.patience(k.gap) && now.Sub(k.pressure.began) > t.rule.Lasting
}

// tookSample is the number of accepted attempts after which the weight of one's reply time falls to 1/e.
const tookSample = 8

// ReplyTime returns how long the server recently took for what it accepted. A retry for which less time is left is of no use.
func (t *Throttle) ReplyTime() time.Duration {
	if !t.Active() {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()

	return t.known.took
}
