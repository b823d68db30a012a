package overload

import (
	"context"
	"errors"
	"net"

	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/proxy"
)

// ConnectionLimiter is a proxy.Acceptor that silently closes connections beyond a rate before it reads from them.
type ConnectionLimiter struct{ limiter *limiter }

// NewConnectionLimiter returns a limiter.
func NewConnectionLimiter(c clock.Clock, limit Limit) (*ConnectionLimiter, error) {
	limiter, err := newLimiter(c, limit)
	if err != nil {
		return nil, err
	}
	return &ConnectionLimiter{limiter: limiter}, nil
}

// Limit returns the limit.
func (l *ConnectionLimiter) Limit() Limit {
	limit, _ := l.limiter.snapshot()
	return limit
}

// SetLimit changes the limit, or returns an error if it makes no sense.
func (l *ConnectionLimiter) SetLimit(limit Limit) error { return l.limiter.set(limit) }

// Counts returns the outcomes of the connections so far.
func (l *ConnectionLimiter) Counts() Counts {
	_, counts := l.limiter.snapshot()
	return counts
}

// Accept implements proxy.Acceptor.
func (l *ConnectionLimiter) Accept(ctx context.Context, _ net.Conn) error {
	err := l.limiter.admit(ctx)
	if errors.Is(err, errRejected) {
		return proxy.ErrClose
	}
	return err
}
