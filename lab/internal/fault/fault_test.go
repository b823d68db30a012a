package fault

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

// pass is a request through the switch; it returns how long that took.
func pass(ctx context.Context, s *Switch) (time.Duration, error) {
	start := time.Now()
	passed := false
	err := s.Handle(ctx, nil, nil, func(context.Context, *proxy.Request, proxy.ReplyFunc) error {
		passed = true
		return nil
	})
	if err == nil && !passed {
		err = errors.New("neither passed on nor refused")
	}
	return time.Since(start), err
}

func TestSwitch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Switch{}
		assert.Equal(t, Off, s.Current().Kind)
		took, err := pass(t.Context(), s)
		require.NoError(t, err)
		assert.Zero(t, took)

		s.Set(Fault{Kind: Slow, Delay: time.Second})
		took, err = pass(t.Context(), s)
		require.NoError(t, err)
		assert.Equal(t, time.Second, took)
		assert.NoError(t, s.Accept(t.Context(), nil))

		s.Set(Fault{Kind: Silent})
		time.AfterFunc(time.Minute, func() { s.Set(Fault{Kind: Slow, Delay: time.Second}) })
		took, err = pass(t.Context(), s)
		require.NoError(t, err)
		assert.Equal(t, time.Minute+time.Second, took)

		s.Set(Fault{Kind: Reset})
		assert.ErrorIs(t, s.Accept(t.Context(), nil), proxy.ErrReset)
	})
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	for _, f := range []Fault{{Kind: Silent}, {Kind: Slow, Delay: time.Hour}} {
		synctest.Test(t, func(t *testing.T) {
			s := &Switch{}
			s.Set(f)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			took, err := pass(ctx, s)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, time.Second, took)
			if f.Kind == Silent {
				assert.Error(t, s.Accept(ctx, nil))
			}
		})
	}
}

func TestRepliesAreSilencedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, start := &Switch{}, time.Now()
		var answered time.Duration
		reply := func(*wire.Message) error {
			answered = time.Since(start)
			return nil
		}
		// The server answers when the front has fallen silent.
		err := s.Handle(t.Context(), nil, reply, func(_ context.Context, _ *proxy.Request, reply proxy.ReplyFunc) error {
			s.SetFor(Fault{Kind: Silent}, time.Second)
			return reply(nil)
		})
		require.NoError(t, err)
		assert.Equal(t, time.Second, answered)
	})
}

func TestFaultsEndByThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Switch{}
		s.SetFor(Fault{Kind: Silent}, time.Second)
		s.SetFor(Fault{Kind: Reset}, time.Minute)
		time.Sleep(2 * time.Second)
		assert.Equal(t, Reset, s.Current().Kind, "the time of the fault before it is nothing to this one")
		time.Sleep(time.Minute)
		assert.Equal(t, Off, s.Current().Kind)

		s.SetFor(Fault{Kind: Silent}, time.Second)
		s.Stop()
		time.Sleep(time.Minute)
		assert.Equal(t, Silent, s.Current().Kind, "nothing is due any more")
	})
}
