package mongo

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// aborted is the reply to a command of a transaction that the server has aborted.
var aborted = scripted.Failure(251, driver.TransientTransactionError)

// halfTransactionBackoffs returns the first backoffs at a jitter of 0.5.
func halfTransactionBackoffs(n int) []time.Duration {
	var halves []time.Duration
	for _, longest := range transactionBackoffs[:n] {
		halves = append(halves, longest/2)
	}
	return halves
}

func TestWithTransactionBackoff(t *testing.T) {
	t.Run("grows with each attempt", func(t *testing.T) {
		s := scripted.New(t)
		for range transactionBackoffs {
			s.Replies = append(s.Replies, scripted.OK(), aborted)
		}
		s.Replies = append(s.Replies, scripted.OK(), scripted.OK())

		calls, err := insertInTransaction(context.Background(), t, s)
		require.NoError(t, err)
		assert.Equal(t, 14, calls)
		assert.Equal(t, halfTransactionBackoffs(13), s.Slept)
	})
	t.Run("follows an error of the callback", func(t *testing.T) {
		s := scripted.New(t, aborted, scripted.OK() /* abort */, scripted.OK(), scripted.OK())
		calls, err := insertInTransaction(context.Background(), t, s)
		require.NoError(t, err)
		assert.Equal(t, 2, calls)
		assert.Equal(t, halfTransactionBackoffs(1), s.Slept)
	})
	t.Run("precedes another commit", func(t *testing.T) {
		unknown := scripted.Failure(1, driver.UnknownTransactionCommitResult)
		s := scripted.New(t, scripted.OK(), unknown, unknown, scripted.OK())
		calls, err := insertInTransaction(context.Background(), t, s)
		require.NoError(t, err)
		assert.Equal(t, 1, calls)
		assert.Equal(t, halfTransactionBackoffs(2), s.Slept)
	})
	t.Run("does not follow other errors", func(t *testing.T) {
		s := scripted.New(t, scripted.Failure(1), scripted.OK() /* abort */)
		calls, err := insertInTransaction(context.Background(), t, s)
		assert.Equal(t, 1, calls)
		var cmdErr CommandError
		require.True(t, errors.As(err, &cmdErr))
		assert.Equal(t, int32(1), cmdErr.Code)
	})
}

// TestWithTransactionOverload is about overload errors, which are retried command by command: the transaction is not run
// again for them.
func TestWithTransactionOverload(t *testing.T) {
	s := scripted.New(t, scripted.Overloaded(), scripted.OK(), scripted.Overloaded(), scripted.OK())
	calls, err := insertInTransaction(context.Background(), t, s)
	require.NoError(t, err)
	assert.Equal(t, 1, calls)
	assert.Equal(t, []any{true, true, nil, nil}, s.Field("startTransaction"))
	assert.Equal(t, []time.Duration{50 * time.Millisecond, 50 * time.Millisecond}, s.Slept)

	s = scripted.New(t, append(scripted.Repeat(6, scripted.Overloaded()), scripted.OK() /* abort */)...)
	calls, err = insertInTransaction(context.Background(), t, s)
	assert.Equal(t, 1, calls)
	assert.True(t, errorHasLabel(err, driver.ErrSystemOverloadedError), "got %v", err)
}

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
	newScript := func(t *testing.T, transactions int) *scripted.Script {
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
		var cmdErr CommandError
		require.True(t, errors.As(err, &cmdErr))
		assert.Equal(t, int32(251), cmdErr.Code)
	}

	for _, tt := range []struct {
		name         string
		opts         *options.ClientOptions
		deadline     bool // after 59 seconds
		transactions int
	}{
		{name: "after 120 seconds", opts: options.Client(), transactions: 5},
		{name: "at the context's deadline", opts: options.Client(), deadline: true, transactions: 3},
		{name: "after the client's timeout", opts: options.Client().SetTimeout(80 * time.Second), transactions: 4},
		{name: "at the context's deadline rather than after the client's timeout", opts: options.Client().SetTimeout(time.Hour),
			deadline: true, transactions: 3},
	} {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			s, ctx := newScript(t, tt.transactions), context.Background()
			if tt.deadline {
				var cancel context.CancelFunc
				ctx, cancel = context.WithDeadline(ctx, s.Now().Add(59*time.Second))
				defer cancel()
			}
			calls, err := insertInTransaction(ctx, t, s, tt.opts)
			assert.Equal(t, tt.transactions, calls)
			isTimeout(t, err)
		})
	}
	t.Run("before a backoff that would pass the deadline", func(t *testing.T) {
		s := newScript(t, 1)
		deadline := time.Now().Add(time.Hour)
		s.Policy.Clock = &leapingClock{Script: s, now: deadline.Add(-2 * time.Millisecond)}
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		defer cancel()
		calls, err := insertInTransaction(ctx, t, s)
		assert.Equal(t, 1, calls)
		assert.Empty(t, s.Slept)
		isTimeout(t, err)
	})
	t.Run("cancellation is none", func(t *testing.T) {
		s := newScript(t, 1)
		ctx, cancel := context.WithCancel(context.Background())
		s.OnSleep = cancel
		_, err := insertInTransaction(ctx, t, s)
		assert.True(t, errors.Is(err, context.Canceled), "got %v", err)
		assert.False(t, IsTimeout(err))
	})
}

// TestWithTransactionFinalErrors is about errors that end WithTransaction whatever the time. They stay what they are when it is
// up (transactions-convenient-api.md of 2026-04-10, "Timeout Error propagation").
func TestWithTransactionFinalErrors(t *testing.T) {
	ok := scripted.OK()
	late := scripted.Overloaded() // the clock leaps over the deadline during the backoff
	unknown := driver.UnknownTransactionCommitResult

	tests := []struct {
		name    string
		replies []any
		code    int32
		label   string
		timeout bool
	}{
		{name: "commit, unauthorized", replies: []any{ok, late, scripted.Failure(13)}, code: 13},
		{name: "commit, duplicate key", replies: []any{ok, late, scripted.Failure(11000)}, code: 11000},
		{name: "commit, unsatisfiable write concern", replies: []any{ok, late, scripted.OK(concernError(100))}, code: 100},
		{name: "commit, maxTimeMS expired", replies: []any{ok, late, scripted.Failure(50, unknown)}, code: 50, label: unknown,
			timeout: true},
		{name: "commit, result unknown", replies: []any{ok, late, scripted.Failure(64, unknown)}, code: 64, label: unknown,
			timeout: true},
		{name: "commit, write concern not reached", replies: []any{ok, late, scripted.OK(concernError(64))}, code: 64,
			label: unknown, timeout: true},
		{name: "commit, transient", replies: []any{ok, late, aborted}, code: 251, label: driver.TransientTransactionError,
			timeout: true},
		{name: "callback, duplicate key", replies: []any{late, scripted.Failure(11000), ok /* abort */}, code: 11000},
		{name: "callback, transient", replies: []any{late, aborted, ok /* abort */}, code: 251,
			label: driver.TransientTransactionError, timeout: true},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			s := scripted.New(t, tt.replies...)
			s.Policy.Clock = &leapingClock{Script: s, now: s.Now()}
			ctx, cancel := context.WithDeadline(context.Background(), s.Now().Add(20*time.Second))
			defer cancel()
			_, err := insertInTransaction(ctx, t, s)

			assert.Equal(t, tt.timeout, IsTimeout(err), "got %v", err)
			var cmdErr CommandError
			require.True(t, errors.As(err, &cmdErr), "got %T (%v)", err, err)
			assert.Equal(t, tt.code, cmdErr.Code)
			assert.True(t, tt.label == "" || errorHasLabel(err, tt.label), "the label is lost")
		})
	}
}

// TestWithTransactionCommitsOnceWithinMaxTimeMS is about a commit that took as long as the application permits: another would exceed
// that, and turn an error into a success (transactions-convenient-api.md, "The commit is not retried after a MaxTimeMSExpired error").
func TestWithTransactionCommitsOnceWithinMaxTimeMS(t *testing.T) {
	for name, expired := range map[string]bson.D{
		"error":                        scripted.Failure(50),
		"error that the server labels": scripted.Failure(50, "UnknownTransactionCommitResult"),
		"write concern error":          scripted.OK(concernError(50)),
	} {
		expired := expired
		t.Run(name, func(t *testing.T) {
			s := scripted.New(t, scripted.OK(), expired)
			s.Rest = scripted.OK()
			_, err := insertInTransaction(context.Background(), t, s)
			assert.Equal(t, []string{"insert", "commitTransaction"}, commandNames(t, s))
			var cmdErr CommandError
			require.True(t, errors.As(err, &cmdErr), "got %T (%v)", err, err)
			assert.True(t, cmdErr.IsMaxTimeMSExpiredError(), "got %v", err)
			assert.True(t, cmdErr.HasErrorLabel("UnknownTransactionCommitResult"), "got %v", err)
		})
	}
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
		_, err := insertInTransaction(context.Background(), t, s)
		require.NoError(t, err)

		var slept time.Duration
		for _, d := range s.Slept {
			slept += d
		}
		return slept
	}
	assert.Equal(t, time.Duration(0), duration(0))
	assert.InDelta(t, sumOfTransactionBackoffs.Seconds(), duration(1).Seconds(), 0.5)
}

// TestWithTransactionThatCannotStart is about a session that cannot start a transaction: the callback is not called.
func TestWithTransactionThatCannotStart(t *testing.T) {
	session, err := connectScript(t, scripted.New(t)).StartSession()
	require.NoError(t, err)
	require.NoError(t, session.StartTransaction())
	called := false
	_, err = session.WithTransaction(context.Background(), func(context.Context) (any, error) { called = true; return nil, nil })
	assert.ErrorContains(t, err, "transaction already in progress")
	assert.False(t, called)
}

// TestWithTransactionWithoutAPolicy is about a deployment of another package.
func TestWithTransactionWithoutAPolicy(t *testing.T) {
	s := scripted.New(t, scripted.OK(), scripted.OK())
	s.Policy = nil
	require.NoError(t, insertWithTransaction(context.Background(), connectScript(t, s).Database("db").Collection("coll")))
	s.Finish()
}

// TestTransactionsOfAMoment is about a client whose Timeout is as short as can be: it counts for a call, and anew for the end of its
// transaction.
func TestTransactionsOfAMoment(t *testing.T) {
	s := scripted.New(t)
	session, err := connectScript(t, s, options.Client().SetTimeout(time.Nanosecond)).StartSession()
	require.NoError(t, err)
	retries := session.newTransactionRetries(context.Background())
	assert.Equal(t, time.Nanosecond, retries.period)
	for _, aborts := range []bool{false, true} {
		ctx, cancel := session.endingContext(context.Background(), retries, aborts)
		assert.Equal(t, context.DeadlineExceeded, ctx.Err(), "aborts %v", aborts)
		cancel()
	}
}

// TestTimeOfTransactionEnds is about a call of an hour, of which ten minutes are left: a commit has these, and an abort has an hour anew.
func TestTimeOfTransactionEnds(t *testing.T) {
	s := scripted.New(t)
	session, err := connectScript(t, s).StartSession()
	require.NoError(t, err)
	ctx, cancel := context.WithDeadline(context.Background(), s.Now().Add(time.Hour))
	defer cancel()
	retries := session.newTransactionRetries(ctx)
	s.Elapsed = 50 * time.Minute
	for aborts, want := range map[bool]time.Duration{false: 10 * time.Minute, true: time.Hour} {
		ending, cancel := session.endingContext(ctx, retries, aborts)
		deadline, _ := ending.Deadline()
		assert.InDelta(t, want.Seconds(), deadline.Sub(s.Now()).Seconds(), 1, "aborts %v", aborts)
		cancel()
	}
}
