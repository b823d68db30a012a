package soak

import (
	"context"
	"sync/atomic"
	"time"

	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

// commitGate holds commits while it is closed: alternately one on its way to the member, and the reply to one on its way back.
// When it opens, after the member has been killed, it resets their connections. It is safe for concurrent use, by many fronts.
type commitGate struct {
	until atomic.Int64 // in nanoseconds since 1970
	turn  atomic.Int64
	held  atomic.Int64
}

// close closes the gate for a time.
func (g *commitGate) close(d time.Duration) { g.until.Store(time.Now().Add(d).UnixNano()) }

// hold waits until the gate opens, and then resets the connection. It returns nil at once if the gate is open.
func (g *commitGate) hold(ctx context.Context) error {
	left := time.Until(time.Unix(0, g.until.Load()))
	if left <= 0 {
		return nil
	}
	g.held.Add(1)
	if err := (clock.System{}).Wait(ctx, left); err != nil {
		return err
	}
	return proxy.ErrReset
}

// Handle implements proxy.Handler.
func (g *commitGate) Handle(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	if req.Command != "commitTransaction" {
		return next(ctx, req, reply)
	}
	if g.turn.Add(1)%2 == 0 {
		if err := g.hold(ctx); err != nil {
			return err
		}
	}
	return next(ctx, req, func(m *wire.Message) error {
		if err := g.hold(ctx); err != nil {
			return err
		}
		return reply(m)
	})
}
