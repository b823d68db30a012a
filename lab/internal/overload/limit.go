package overload

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"mongofork/lab/internal/clock"
)

// Limit is a rate limit. Its zero value is not valid; begin with Unlimited.
type Limit struct {
	Enabled bool
	// RatePerSec is the number admitted per second, at least 1.
	RatePerSec int32
	// BurstCapacitySecs is the time for which the rate can be saved up, in seconds, more than 0. There is always room for one
	// admission.
	BurstCapacitySecs float64
	// MaxQueueDepth is the number that may wait for admission; 0 rejects at once.
	MaxQueueDepth int64
}

// Unlimited is a server's initial limit: off, and without any bound once it is on.
func Unlimited() Limit {
	return Limit{RatePerSec: math.MaxInt32, BurstCapacitySecs: math.MaxFloat64}
}

// Check returns an error if the limit makes no sense.
func (l Limit) Check() error {
	switch {
	case l.RatePerSec < 1:
		return fmt.Errorf("a rate of %d per second: give at least 1", l.RatePerSec)
	case !(l.BurstCapacitySecs > 0): // NaN, too
		return fmt.Errorf("a burst capacity of %v seconds: give more than 0", l.BurstCapacitySecs)
	case l.MaxQueueDepth < 0:
		return fmt.Errorf("a queue depth of %d: give 0 or more", l.MaxQueueDepth)
	}
	return nil
}

// burst is the number of tokens that the bucket holds.
func (l Limit) burst() float64 {
	return max(1, float64(l.RatePerSec)*l.BurstCapacitySecs)
}

// Counts are the outcomes of all requests for admission while the limit was on. As in the server, a limiter that is off counts
// nothing.
type Counts struct {
	Attempted, Admitted, Rejected, Exempted int64
	// Enqueued had to wait; of these, Interrupted gave up, and Queued are waiting now.
	Enqueued, Interrupted, Queued int64
}

// errRejected means that there is neither a token nor room in the queue.
var errRejected = errors.New("the rate is exceeded")

// limiter is a token bucket with a queue. A waiting request has borrowed a token, so the bucket may be negative.
type limiter struct {
	clock clock.Clock

	mu      sync.Mutex
	limit   Limit
	tokens  float64
	updated time.Time // when tokens was right
	counts  Counts
}

func newLimiter(c clock.Clock, limit Limit) (*limiter, error) {
	if c == nil {
		return nil, errors.New("a limiter needs a clock; clock.System is the machine's")
	}
	if err := limit.Check(); err != nil {
		return nil, err
	}
	return &limiter{clock: c, limit: limit, tokens: limit.burst(), updated: c.Now()}, nil
}

// set changes the limit. As in the server, the bucket keeps its tokens, if there is room for them; waiting requests wait until
// their original time.
func (l *limiter) set(limit Limit) error {
	if err := limit.Check(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refill()
	l.limit, l.tokens = limit, min(l.tokens, limit.burst())
	return nil
}

// admit returns nil, possibly after a wait; errRejected; or the context's error.
func (l *limiter) admit(ctx context.Context) error {
	wait, err := l.reserve()
	if err != nil || wait == 0 {
		return err
	}
	err = l.clock.Wait(ctx, wait)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts.Queued--
	if err != nil {
		l.counts.Interrupted++
		l.tokens = min(l.tokens+1, l.limit.burst()) // not used yet
		return err
	}
	l.counts.Admitted++
	return nil
}

// reserve takes a token, and returns the time until it is there.
func (l *limiter) reserve() (time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.limit.Enabled {
		return 0, nil
	}
	l.counts.Attempted++
	l.refill()
	switch {
	case l.tokens >= 1:
		l.tokens--
		l.counts.Admitted++
		return 0, nil
	case l.counts.Queued >= l.limit.MaxQueueDepth:
		l.counts.Rejected++
		return 0, errRejected
	default:
		l.tokens--
		l.counts.Enqueued++
		l.counts.Queued++
		seconds := -l.tokens / float64(l.limit.RatePerSec)
		return max(1, time.Duration(math.Ceil(seconds*float64(time.Second)))), nil
	}
}

func (l *limiter) refill() {
	now := l.clock.Now()
	earned := now.Sub(l.updated).Seconds() * float64(l.limit.RatePerSec)
	l.tokens, l.updated = min(l.tokens+earned, l.limit.burst()), now
}

func (l *limiter) exempt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limit.Enabled {
		l.counts.Exempted++
	}
}

// available returns the number that would be admitted at once.
func (l *limiter) available() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refill()
	return max(0, l.tokens)
}

func (l *limiter) snapshot() (Limit, Counts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limit, l.counts
}
