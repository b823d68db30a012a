package fronts

import (
	"context"
	"sync/atomic"
	"time"

	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

// silence lets a front accept everything and answer nothing while it is on; what came meanwhile then goes on.
type silence struct{ atomic.Bool }

// wait returns nil once it is off, or the reason why the context ended.
func (s *silence) wait(ctx context.Context) error {
	for s.Load() {
		if err := clock.Wait(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// Handle is a proxy.Handler.
func (s *silence) Handle(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	// A reply that the server gives meanwhile, such as to a hello that waits for news, has to be held back, too.
	return next(ctx, req, func(m *wire.Message) error {
		if err := s.wait(ctx); err != nil {
			return err
		}
		return reply(m)
	})
}
