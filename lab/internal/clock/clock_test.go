package clock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestSystemWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var system System
		start := system.Now()
		assert.NoError(t, system.Wait(t.Context(), time.Hour))
		assert.Equal(t, time.Hour, system.Now().Sub(start))
		assert.NoError(t, system.Wait(t.Context(), -1))

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		assert.ErrorIs(t, system.Wait(ctx, time.Hour), context.DeadlineExceeded)
		assert.ErrorIs(t, system.Wait(ctx, 0), context.DeadlineExceeded)
		assert.Equal(t, time.Hour+time.Minute, system.Now().Sub(start))
	})
}
