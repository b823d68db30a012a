package overload

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/lab/internal/clock"
)

// The tests of time run in bubbles of testing/synctest, in which waiting is exact and takes none.

func limiterOf(t testing.TB, limit Limit) *limiter {
	t.Helper()
	limit.Enabled = true
	l, err := newLimiter(clock.System{}, limit)
	require.NoError(t, err)
	return l
}

// admitted asks n times, one after the other, and returns how often that was granted.
func admitted(t testing.TB, l *limiter, n int) int {
	t.Helper()
	granted := 0
	for range n {
		switch err := l.admit(t.Context()); {
		case err == nil:
			granted++
		default:
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
		_, counts := l.snapshot()
		assert.Equal(t, Counts{Attempted: 43, Admitted: 11, Rejected: 32}, counts)
	})
}

func TestRateIsKeptOverTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiterOf(t, Limit{RatePerSec: 1000, BurstCapacitySecs: 0.01})
		granted := 0
		for range 7000 { // 7,000 per second for 3 seconds, by threes
			granted += admitted(t, l, 3)
			time.Sleep(3 * time.Second / 7000)
		}
		assert.InDelta(t, 3*1000+10, granted, 1)
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
	off, err := newLimiter(clock.System{}, Limit{RatePerSec: 1, BurstCapacitySecs: 1})
	require.NoError(t, err)
	assert.Equal(t, 100, admitted(t, off, 100))
	off.exempt()
	_, counts := off.snapshot()
	assert.Zero(t, counts, "it is off")
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
		synctest.Wait()
		_, counts := l.snapshot()
		assert.Equal(t, Counts{Attempted: 4, Admitted: 1, Rejected: 1, Enqueued: 2, Queued: 2}, counts)
		running.Wait()
		slices.Sort(waits)
		assert.Equal(t, []time.Duration{-1, 0, 100 * time.Millisecond, 200 * time.Millisecond}, waits)
		_, counts = l.snapshot()
		assert.Equal(t, Counts{Attempted: 4, Admitted: 3, Rejected: 1, Enqueued: 2}, counts)
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
		_, counts := l.snapshot()
		assert.Equal(t, Counts{Attempted: 3, Admitted: 2, Enqueued: 2, Interrupted: 1}, counts)
	})
}

func TestSetKeepsWhatTheBucketHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := Limit{Enabled: true, RatePerSec: 10, BurstCapacitySecs: 1}
		l := limiterOf(t, limit)
		assert.Equal(t, 10, admitted(t, l, 20))
		limit.RatePerSec = 20
		require.NoError(t, l.set(limit))
		assert.Zero(t, admitted(t, l, 1), "it was empty")
		time.Sleep(time.Hour)
		limit.BurstCapacitySecs = 0.5
		require.NoError(t, l.set(limit))
		assert.Equal(t, 10, admitted(t, l, 30), "there is no room for more")
		limit.Enabled = false
		require.NoError(t, l.set(limit))
		time.Sleep(50 * time.Millisecond)
		limit.Enabled = true
		require.NoError(t, l.set(limit))
		assert.Equal(t, 1, admitted(t, l, 3), "it is filled while the limit is off, too")

		for want, bad := range map[string]Limit{
			"a rate of 0 per second":          {BurstCapacitySecs: 1},
			"a burst capacity of NaN seconds": {RatePerSec: 1, BurstCapacitySecs: math.NaN()},
			"a burst capacity of 0 seconds":   {RatePerSec: 1},
			"a queue depth of -1":             {RatePerSec: 1, BurstCapacitySecs: 1, MaxQueueDepth: -1},
		} {
			assert.ErrorContains(t, l.set(bad), want)
		}
		kept, _ := l.snapshot()
		assert.Equal(t, limit, kept)
	})
}

func TestAdmissionsAreExactUnderConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiterOf(t, Limit{RatePerSec: 100, BurstCapacitySecs: 1})
		var granted, rejected int
		var mu sync.Mutex
		var running sync.WaitGroup
		for range 500 {
			running.Go(func() {
				err := l.admit(t.Context())
				mu.Lock()
				defer mu.Unlock()
				if errors.Is(err, errRejected) {
					rejected++
				} else {
					granted++
				}
			})
		}
		running.Wait()
		assert.Equal(t, []int{100, 400}, []int{granted, rejected})
	})
}
