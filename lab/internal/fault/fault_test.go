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
