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
		s.Set(Fault{Kind: Slow, Delay: 70 * time.Millisecond})
		assert.Equal(t, 70*time.Millisecond, handle(t, s))
		assert.NoError(t, s.Accept(t.Context(), nil))
		s.Set(Fault{Kind: Reset})
		assert.ErrorIs(t, s.Accept(t.Context(), nil), proxy.ErrReset)

		s.Set(Fault{Kind: Silent, For: time.Second})
		assert.Equal(t, Silent, s.Current().Kind)
		assert.Equal(t, time.Second, handle(t, s), "then it goes on")
		assert.Equal(t, Off, s.Current().Kind)
		s.Set(Fault{Kind: Silent, For: time.Second})
		s.Set(Fault{Kind: Silent, For: 3 * time.Second})
		assert.Equal(t, 3*time.Second, handle(t, s), "a fault's time ends no other")

		s.Set(Fault{Kind: Silent})
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
			s.Set(Fault{Kind: Silent, For: 5 * time.Second})
			return reply(&wire.Message{})
		}))
	})
}

func TestCheck(t *testing.T) {
	for want, f := range map[string]Fault{
		`fault "loud" is unknown; give "off"`: {Kind: "loud"},
		"takes a delay of more than 0":        {Kind: Slow},
		"and no other, takes a delay":         {Kind: Reset, Delay: 1},
		"until further notice":                {Kind: Silent, For: -1},
	} {
		assert.ErrorContains(t, f.Check(), want)
	}
	assert.NoError(t, Fault{Kind: Slow, Delay: 1}.Check())
}
