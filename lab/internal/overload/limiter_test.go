package overload

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The tests of time run in bubbles of testing/synctest, in which waiting is exact and takes none.

func limiterOf(t testing.TB, limit Limit) *Limiter {
	t.Helper()
	limit.Enabled = true
	l := newLimiter()
	l.SetLimit(limit)
	return l
}

// admitted asks n times, one after the other, and returns how often that was granted.
func admitted(t testing.TB, l *Limiter, n int) int {
	t.Helper()
	granted := 0
	for range n {
		if err := l.admit(t.Context()); err == nil {
			granted++
		} else {
			require.ErrorIs(t, err, errRejected)
		}
	}
	return granted
}

func TestBurstAndRefill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiterOf(t, Limit{RatePerSec: 10, BurstCapacitySecs: 0.5})
		assert.Equal(t, 5, admitted(t, l, 20), "the bucket begins full")
		time.Sleep(99 * time.Millisecond)
		assert.Equal(t, 0, admitted(t, l, 1))
		time.Sleep(time.Millisecond)
		assert.Equal(t, 1, admitted(t, l, 2))
		time.Sleep(time.Hour)
		assert.Equal(t, 5, admitted(t, l, 20), "no more is saved up than the burst")
	})
}

func TestBucketHoldsOneAtLeast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiterOf(t, Limit{RatePerSec: 1, BurstCapacitySecs: 1e-9})
		assert.Equal(t, 1, admitted(t, l, 2))
		time.Sleep(time.Second)
		assert.Equal(t, 1, admitted(t, l, 2))
	})
}

func TestUnlimited(t *testing.T) {
	off := newLimiter()
	assert.Equal(t, 100, admitted(t, off, 100))
	assert.Equal(t, 10_000, admitted(t, limiterOf(t, Unlimited()), 10_000))
}

func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiterOf(t, Limit{RatePerSec: 10, BurstCapacitySecs: 0.1, MaxQueueDepth: 2})
		var mu sync.Mutex
		var waits []time.Duration
		start := time.Now()
		var running sync.WaitGroup
		for range 4 {
			running.Go(func() {
				wait := time.Duration(-1)
				if l.admit(t.Context()) == nil {
					wait = time.Since(start)
				}
				mu.Lock()
				defer mu.Unlock()
				waits = append(waits, wait)
			})
		}
		running.Wait()
		slices.Sort(waits)
		assert.Equal(t, []time.Duration{-1, 0, 100 * time.Millisecond, 200 * time.Millisecond}, waits)
	})
}

func TestWhoLeavesTheQueueGivesTheTokenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiterOf(t, Limit{RatePerSec: 10, BurstCapacitySecs: 0.1, MaxQueueDepth: 1})
		assert.Equal(t, 1, admitted(t, l, 1))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		assert.ErrorIs(t, l.admit(ctx), context.DeadlineExceeded)
		start := time.Now()
		assert.Equal(t, 1, admitted(t, l, 1))
		assert.Equal(t, 50*time.Millisecond, time.Since(start), "it waits for the very token that the other left")
	})
}

func TestSetLimitKeepsWhatTheBucketHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := Limit{Enabled: true, RatePerSec: 10, BurstCapacitySecs: 1}
		l := limiterOf(t, limit)
		assert.Equal(t, 10, admitted(t, l, 20))
		limit.RatePerSec = 20
		l.SetLimit(limit)
		assert.Zero(t, admitted(t, l, 1), "it was empty")
		time.Sleep(time.Hour)
		limit.BurstCapacitySecs = 0.5
		l.SetLimit(limit)
		assert.Equal(t, 10, admitted(t, l, 30), "there is no room for more")
	})
}
