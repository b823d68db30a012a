package overload

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"mongofork/lab/internal/answer"
	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/proxy"
)

// CapacityConfig is a server's capacity.
type CapacityConfig struct {
	// RequestsPerSec is the number of requests served per second if none is rejected.
	RequestsPerSec float64
	// MaxQueueDepth is the number of requests that may wait for the one that is served; more are rejected.
	MaxQueueDepth int
	// RejectionShare is the share of a request's work that a rejection takes, from 0 to 1.
	RejectionShare float64
}

func (c CapacityConfig) check() error {
	switch {
	case !(c.RequestsPerSec > 0) || math.IsInf(c.RequestsPerSec, 0):
		return fmt.Errorf("a capacity of %v requests per second: give more than 0", c.RequestsPerSec)
	case c.MaxQueueDepth < 0:
		return fmt.Errorf("a queue depth of %d: give 0 or more", c.MaxQueueDepth)
	case !(c.RejectionShare >= 0 && c.RejectionShare <= 1):
		return fmt.Errorf("a rejection that takes %v of a request's work: give from 0 to 1", c.RejectionShare)
	}
	return nil
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
}

// NewCapacity returns an idle server.
func NewCapacity(config CapacityConfig) (*Capacity, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	return &Capacity{config: config, work: time.Duration(float64(time.Second) / config.RequestsPerSec)}, nil
}

// Handle implements proxy.Handler.
func (c *Capacity) Handle(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	if isExempt(req) {
		return next(ctx, req, reply)
	}
	wait, admitted := c.enter()
	err := clock.Wait(ctx, wait)
	if admitted {
		c.leave()
	}
	switch {
	case err != nil:
		return err
	case !admitted:
		return answer.RequestRate.Error().Send(req, reply)
	}
	return next(ctx, req, reply)
}

// enter returns the time until a request is served or, if there is no room for it, rejected. The work of a client that leaves
// before is done all the same: the server has begun, or has to find out.
func (c *Capacity) enter() (wait time.Duration, admitted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	work := c.work
	if admitted = c.present <= c.config.MaxQueueDepth; admitted {
		c.present++
	} else {
		work = time.Duration(float64(c.work) * c.config.RejectionShare)
	}
	now := time.Now()
	if c.busyUntil.Before(now) {
		c.busyUntil = now
	}
	c.busyUntil = c.busyUntil.Add(work)
	return c.busyUntil.Sub(now), admitted
}

func (c *Capacity) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.present--
}
