package soak

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInsist(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	errCleared := errors.New("the pool was cleared")

	left := []error{errCleared, errCleared, nil}
	next := func() error {
		err := left[0]
		left = left[1:]
		return err
	}
	require.NoError(t, insist(ctx, 0, next))
	require.Empty(t, left)

	calls := 0
	require.ErrorIs(t, insist(ctx, 0, func() error {
		calls++
		if calls > 1 {
			cancel()
			return ctx.Err()
		}
		return errCleared
	}), errCleared)
	require.Equal(t, 2, calls)
}
