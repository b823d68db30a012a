package overload

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/proxy"
)

// CapacityConfig is a server's capacity.
type CapacityConfig struct {
	Clock clock.Clock
	// RequestsPerSec is the number of requests served per second if none is rejected.
	RequestsPerSec float64
	// MaxQueueDepth is the number of requests that may wait for the one that is served; more are rejected.
	MaxQueueDepth int
	// RejectionShare is the share of a request's work that a rejection takes, from 0 to 1.
	RejectionShare float64
	// Rejection is the error of a rejected request; empty for RequestRate.
	Rejection Rejection
}

func (c CapacityConfig) check() error {
	switch {
	case c.Clock == nil:
		return errors.New("a capacity needs a clock; clock.System is the machine's")
	case !(c.RequestsPerSec > 0) || math.IsInf(c.RequestsPerSec, 0):
		return fmt.Errorf("a capacity of %v requests per second: give more than 0", c.RequestsPerSec)
	case c.MaxQueueDepth < 0:
		return fmt.Errorf("a queue depth of %d: give 0 or more", c.MaxQueueDepth)
	case !(c.RejectionShare >= 0 && c.RejectionShare <= 1):
		return fmt.Errorf("a rejection that takes %v of a request's work: give from 0 to 1", c.RejectionShare)
	}
	return c.Rejection.Check()
}

// Capacity is a proxy.Handler that serves requests like a server with one worker and a queue before it. Rejections are work for
// the same worker, which makes storms harmful: rejected requests take time from served ones.
//
// The worker is a record of how long it is busy; requests wait for their end before they are passed on, and nothing is computed
// meanwhile. So it is exact over time, however coarse the clock's waiting is.
type Capacity struct {
	config CapacityConfig
	work   time.Duration // of one request

	mu        sync.Mutex
	busyUntil time.Time
	present   int // requests that wait or are served
	counts    Counts
}

// NewCapacity returns an idle server.
func NewCapacity(config CapacityConfig) (*Capacity, error) {
	if config.Rejection == "" {
		config.Rejection = RequestRate
	}
	if err := config.check(); err != nil {
		return nil, err
	}
	work := time.Duration(float64(time.Second) / config.RequestsPerSec)
	return &Capacity{config: config, work: work, busyUntil: config.Clock.Now()}, nil
}

// Counts returns the outcomes of the requests so far, without rejections on behalf of a RequestLimiter.
func (c *Capacity) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := c.counts
	counts.Queued = int64(max(0, c.present-1))
	return counts
}

// Handle implements proxy.Handler.
func (c *Capacity) Handle(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	if isExempt(req, nil) {
		return next(ctx, req, reply)
	}
	wait, admitted := c.enter()
	if !admitted {
		if err := c.reject(ctx); err != nil {
			return err
		}
		return c.config.Rejection.Error().Send(req, reply)
	}
	err := c.config.Clock.Wait(ctx, wait)
	c.leave()
	if err != nil {
		return err
	}
	return next(ctx, req, reply)
}

// enter returns the time at which a request will have been served, if there is room for it. The work of a client that leaves
// before is done all the same: the server has begun, or has to find out.
func (c *Capacity) enter() (wait time.Duration, admitted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.Attempted++
	if c.present > c.config.MaxQueueDepth {
		c.counts.Rejected++
		return 0, false
	}
	c.counts.Admitted++
	c.present++
	return c.book(c.work), true
}

func (c *Capacity) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.present--
}

// reject does the work of a rejection, which has to wait for the worker, too.
func (c *Capacity) reject(ctx context.Context) error {
	c.mu.Lock()
	wait := c.book(time.Duration(float64(c.work) * c.config.RejectionShare))
	c.mu.Unlock()
	return c.config.Clock.Wait(ctx, wait)
}

// book adds work for the worker, and returns the time until it is done.
func (c *Capacity) book(work time.Duration) time.Duration {
	now := c.config.Clock.Now()
	if c.busyUntil.Before(now) {
		c.busyUntil = now
	}
	c.busyUntil = c.busyUntil.Add(work)
	return c.busyUntil.Sub(now)
}
