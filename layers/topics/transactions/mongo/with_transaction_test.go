package mongo

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// aborted is the reply to a command of a transaction that the server has aborted.
var aborted = scripted.Failure(251, driver.TransientTransactionError)

// leapingClock is a clock that moves only when somebody sleeps, and then by half a minute more.
type leapingClock struct {
	*scripted.Script
	now time.Time
}

func (c *leapingClock) Now() time.Time { return c.now }

func (c *leapingClock) Sleep(ctx, caller context.Context, closed <-chan struct{}, d time.Duration) error {
	c.now = c.now.Add(d + 30*time.Second)
	return c.Script.Sleep(ctx, caller, closed, d)
}

func TestWithTransactionTimeout(t *testing.T) {
	newScript := func(transactions int) *scripted.Script {
		s := scripted.New(t)
		for i := 0; i < transactions; i++ {
			s.Replies = append(s.Replies, scripted.OK(), aborted)
		}
		s.Policy.Clock = &leapingClock{Script: s, now: s.Now()}
		return s
	}
	isTimeout := func(t *testing.T, err error) {
		assert.True(t, IsTimeout(err), "%v is no timeout", err)
		assert.True(t, errors.Is(err, context.DeadlineExceeded))
		assert.True(t, errorHasLabel(err, driver.TransientTransactionError), "the labels of the last error are lost")
		assert.Equal(t, int32(251), scripted.As[CommandError](t, err).Code)
	}
	for _, tt := range []struct {
		name         string
		opts         *options.ClientOptions
		deadline     bool // after 59 seconds
		transactions int
	}{
		{"after 120 seconds", options.Client(), false, 5},
		{"at the context's deadline", options.Client(), true, 3},
		{"after the client's timeout", options.Client().SetTimeout(80 * time.Second), false, 4},
		{"at the context's deadline rather than after the client's timeout", options.Client().SetTimeout(time.Hour), true, 3},
	} {
		s, ctx := newScript(tt.transactions), bgCtx
		if tt.deadline {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, s.Now().Add(59*time.Second))
			defer cancel()
		}
		calls, err := insertInTransaction(ctx, t, s, tt.opts)
		assert.Equal(t, tt.transactions, calls, tt.name)
		isTimeout(t, err)
	}
	t.Run("before a backoff that would pass the deadline", func(t *testing.T) {
		s := newScript(1)
		deadline := time.Now().Add(time.Hour)
		s.Policy.Clock = &leapingClock{Script: s, now: deadline.Add(-2 * time.Millisecond)}
		ctx, cancel := context.WithDeadline(bgCtx, deadline)
		defer cancel()
		calls, err := insertInTransaction(ctx, t, s)
		assert.Equal(t, 1, calls)
		assert.Empty(t, s.Slept)
		isTimeout(t, err)
	})
	t.Run("cancellation is none", func(t *testing.T) {
		s := newScript(1)
		ctx, cancel := context.WithCancel(bgCtx)
		s.OnSleep = cancel
		_, err := insertInTransaction(ctx, t, s)
		assert.True(t, errors.Is(err, context.Canceled), "got %v", err)
		assert.False(t, IsTimeout(err))
	})
}

// transactions-convenient-api/tests, "Retry Backoff is Enforced".
func TestConvenientAPIProseRetryBackoffIsEnforced(t *testing.T) {
	duration := func(jitter float64) time.Duration {
		s := scripted.New(t)
		s.Policy.Jitter = func() float64 { return jitter }
		for i := 0; i < 13; i++ {
			s.Replies = append(s.Replies, scripted.OK(), aborted)
		}
		s.Replies = append(s.Replies, scripted.OK(), scripted.OK())
		require.NoError(t, second(insertInTransaction(bgCtx, t, s)))
		return s.Elapsed
	}
	assert.Equal(t, time.Duration(0), duration(0))
	assert.InDelta(t, sumOfTransactionBackoffs.Seconds(), duration(1).Seconds(), 0.5)
}

// TestWithTransactionWithoutAPolicy is about a deployment of another package.
func TestWithTransactionWithoutAPolicy(t *testing.T) {
	s := scripted.New(t, scripted.OK(), scripted.OK())
	s.Policy = nil
	require.NoError(t, insertWithTransaction(bgCtx, scriptColl(t, s)))
	s.Finish()
}

// TestTransactionsOfAMoment is about the shortest possible Timeout: it counts for a call, and anew for the end of its transaction.
func TestTransactionsOfAMoment(t *testing.T) {
	s := scripted.New(t)
	session := must(connectScript(t, s, options.Client().SetTimeout(time.Nanosecond)).StartSession())(t)
	retries := session.newTransactionRetries(bgCtx)
	assert.Equal(t, time.Nanosecond, retries.period)
	for _, aborts := range []bool{false, true} {
		ctx, cancel := session.endingContext(bgCtx, retries, aborts)
		assert.Equal(t, context.DeadlineExceeded, ctx.Err(), "aborts %v", aborts)
		cancel()
	}
}

// TestTimeOfTransactionEnds is about a call of an hour, of which ten minutes are left: a commit has these, and an abort has an hour anew.
func TestTimeOfTransactionEnds(t *testing.T) {
	s := scripted.New(t)
	session := must(connectScript(t, s).StartSession())(t)
	ctx, cancel := context.WithDeadline(bgCtx, s.Now().Add(time.Hour))
	defer cancel()
	retries := session.newTransactionRetries(ctx)
	s.Elapsed = 50 * time.Minute
	for aborts, want := range map[bool]time.Duration{false: 10 * time.Minute, true: time.Hour} {
		ending, cancel := session.endingContext(ctx, retries, aborts)
		deadline, _ := ending.Deadline()
		assert.InDelta(t, want.Seconds(), deadline.Sub(s.Now()).Seconds(), 1, "aborts %v", aborts)
		assert.True(t, backpressure.PurposeOf(ending).OwnTime, "which no server is told")
		cancel()
	}
}
