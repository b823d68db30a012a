package fronts

import (
	"context"
	"sync"

	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

// silence lets a front accept everything and answer nothing while it is on; what came meanwhile then goes on. It is safe for
// concurrent use.
type silence struct {
	mu    sync.Mutex
	ended chan struct{} // closed at its end; nil while it is off
}

func (s *silence) set(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case on && s.ended == nil:
		s.ended = make(chan struct{})
	case !on && s.ended != nil:
		close(s.ended)
		s.ended = nil
	}
}

// wait returns nil once it is off, or the reason why the context ended.
func (s *silence) wait(ctx context.Context) error {
	s.mu.Lock()
	ended := s.ended
	s.mu.Unlock()
	if ended == nil {
		return nil
	}
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
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
