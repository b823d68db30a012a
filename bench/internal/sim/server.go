package sim

import "time"

// server works off one queue at a constant rate. It rejects a request if the queued work exceeds its limit. Finding that out is
// work as well, done in turn: rejections that come faster than they can be written delay each other and leave nothing for
// requests, which is how retries hold a server down.
type server struct {
	rejection time.Duration // the work of a rejection
	queue     time.Duration // the longest backlog that is admitted to
	busyUntil time.Duration
	limiter   *limiter // nil if there is none
}

// receive accepts a request that needs that much work. It returns the time of the reply, and whether the request was admitted.
func (s *server) receive(now, work time.Duration) (replied time.Duration, admitted bool) {
	if !s.limiter.admits(now) {
		return now, false
	}
	start := max(now, s.busyUntil)
	if admitted = start-now <= s.queue; !admitted {
		work = s.rejection
	}
	s.busyUntil = start + work
	return s.busyUntil, admitted
}

// limiterBurst is the time for which a limiter saves up its rate.
const limiterBurst = 100 * time.Millisecond

// limiter admits requests at a rate, before the server has any work with them.
type limiter struct {
	rate    float64 // requests a second
	until   time.Duration
	tokens  float64
	updated time.Duration
}

func newLimiter(rate float64, until time.Duration) *limiter {
	return &limiter{rate: rate, until: until, tokens: burst(rate)}
}

// burst is the number of requests that are admitted at once.
func burst(rate float64) float64 { return max(1, rate*limiterBurst.Seconds()) }

func (l *limiter) admits(now time.Duration) bool {
	if l == nil || now >= l.until {
		return true
	}
	l.tokens = min(l.tokens+l.rate*(now-l.updated).Seconds(), burst(l.rate))
	l.updated = now
	if l.tokens < 1 {
		return false
	}
	l.tokens--
	return true
}
