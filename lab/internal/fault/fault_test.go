package fault

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

// handle passes a request through, and returns how long it took until the reply.
func handle(t *testing.T, s *Switch) time.Duration {
	t.Helper()
	start := time.Now()
	require.NoError(t, s.Handle(t.Context(), &proxy.Request{}, func(*wire.Message) error { return nil },
		func(_ context.Context, _ *proxy.Request, reply proxy.ReplyFunc) error { return reply(&wire.Message{}) }))
	return time.Since(start)
}

func TestFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Switch{}
		assert.Zero(t, handle(t, s))
		assert.NoError(t, s.Accept(t.Context(), nil))
		s.Set(Reset, 0)
		assert.ErrorIs(t, s.Accept(t.Context(), nil), proxy.ErrReset)

		s.Set(Silent, time.Second)
		assert.True(t, s.Is(Silent))
		assert.Equal(t, time.Second, handle(t, s), "then it goes on")
		assert.True(t, s.Is(Off))
		s.Set(Silent, time.Second)
		s.Set(Silent, 3*time.Second)
		assert.Equal(t, 3*time.Second, handle(t, s), "a fault's time ends no other")

		s.Set(Silent, 0)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(proxy.ErrClose)
		assert.ErrorIs(t, s.Accept(ctx, nil), proxy.ErrClose)
	})
}

// A reply that the server gives while the front becomes silent is held back.
func TestSilenceHoldsReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, start := &Switch{}, time.Now()
		require.NoError(t, s.Handle(t.Context(), &proxy.Request{}, func(*wire.Message) error {
			assert.Equal(t, 5*time.Second, time.Since(start))
			return nil
		}, func(_ context.Context, _ *proxy.Request, reply proxy.ReplyFunc) error {
			s.Set(Silent, 5*time.Second)
			return reply(&wire.Message{})
		}))
	})
}
