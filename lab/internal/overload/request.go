// Package overload makes a front shed load like a server: by a limit on the rate of requests, a limit on the rate of connections,
// and a model of the server's capacity.
package overload

import (
	"context"
	"errors"
	"sync"

	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/proxy"
)

// RequestLimiterConfig configures a RequestLimiter.
type RequestLimiterConfig struct {
	Clock clock.Clock
	Limit Limit
	// Rejection is the error of a request beyond the limit; empty for RequestRate.
	Rejection Rejection
	// Capacity, unless nil, does the work of a rejection. It has to be the next handler.
	Capacity *Capacity
}

// RequestLimiter is a proxy.Handler that rejects requests beyond a rate before anything else is done about them.
type RequestLimiter struct {
	limiter   *limiter
	rejection Rejection
	capacity  *Capacity

	mu           sync.Mutex
	applications []string // that are exempt
}

// NewRequestLimiter returns a limiter.
func NewRequestLimiter(config RequestLimiterConfig) (*RequestLimiter, error) {
	if config.Rejection == "" {
		config.Rejection = RequestRate
	}
	if err := config.Rejection.Check(); err != nil {
		return nil, err
	}
	limiter, err := newLimiter(config.Clock, config.Limit)
	if err != nil {
		return nil, err
	}
	return &RequestLimiter{limiter: limiter, rejection: config.Rejection, capacity: config.Capacity}, nil
}

// Limit returns the limit.
func (l *RequestLimiter) Limit() Limit {
	limit, _ := l.limiter.snapshot()
	return limit
}

// SetLimit changes the limit, or returns an error if it makes no sense.
func (l *RequestLimiter) SetLimit(limit Limit) error { return l.limiter.set(limit) }

// Counts returns the outcomes of the requests so far.
func (l *RequestLimiter) Counts() Counts {
	_, counts := l.limiter.snapshot()
	return counts
}

// ExemptApplications returns the prefixes of the names of exempt applications.
func (l *RequestLimiter) ExemptApplications() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.applications
}

// SetExemptApplications replaces them. The slice is kept.
func (l *RequestLimiter) SetExemptApplications(applications []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.applications = applications
}

// Handle implements proxy.Handler.
func (l *RequestLimiter) Handle(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	if isExempt(req, l.ExemptApplications()) {
		l.limiter.exempt()
		return next(ctx, req, reply)
	}
	err := l.limiter.admit(ctx)
	if !errors.Is(err, errRejected) {
		if err != nil {
			return err
		}
		return next(ctx, req, reply)
	}
	if l.capacity != nil {
		if err := l.capacity.reject(ctx); err != nil {
			return err
		}
	}
	return l.rejection.Error().Send(req, reply)
}
