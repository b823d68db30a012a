package mongo

import (
	"context"
	"errors"
	"io"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// TestCommandsOfTransactionsAreNotRetried is about errors after which other reads and writes are retried (retryable-writes.md,
// "Supported Write Operations"; retryable-reads.md, "Unsupported Read Operations").
func TestCommandsOfTransactionsAreNotRetried(t *testing.T) {
	for name, run := range map[string]func(context.Context, *Collection) error{
		"write": insertAny,
		"read":  func(ctx context.Context, coll *Collection) error { return coll.FindOne(ctx, bson.D{}).Err() },
	} {
		for _, failure := range []any{scripted.ShuttingDown(), io.ErrUnexpectedEOF} {
			s := newShardedScript(t, scripted.OK(), failure, scripted.OK() /* abort */)
			inTransaction(t, s, func(ctx context.Context, _ *Session, coll *Collection) {
				require.NoError(t, insertAny(ctx, coll))
				require.Error(t, run(ctx, coll), name)
				assert.Len(t, s.Sent, 2, name)
			})
		}
	}
}

func TestLoadBalancedTransactionRetries(t *testing.T) {
	ok, rejected := scripted.OK(), scripted.Overloaded()
	for name, tt := range map[string]struct {
		replies     []any
		end         func(*Session, context.Context) error
		connections []int
		begins      []any
	}{
		"an abort is unpinned": {[]any{ok, rejected, rejected, ok}, (*Session).AbortTransaction, []int{1, 1, 2, 3},
			[]any{true, nil, nil, nil}},
		"the first command is unpinned": {[]any{rejected, rejected, ok, ok}, (*Session).CommitTransaction, []int{1, 2, 3, 3},
			[]any{true, true, true, nil}},
	} {
		s := newLoadBalancedScript(t, tt.replies...)
		inTransaction(t, s, func(ctx context.Context, session *Session, coll *Collection) {
			require.NoError(t, insertAny(ctx, coll), name)
			require.NoError(t, tt.end(session, ctx), name)
		})
		assert.Equal(t, tt.connections, connections(s), name)
		assert.Equal(t, tt.begins, s.Field("startTransaction"), name)
	}
	t.Run("what a monitor runs meanwhile is not", func(t *testing.T) {
		s := newLoadBalancedScript(t, scripted.OK(), scripted.Overloaded(), scripted.OK(), scripted.OK())
		var db *Database
		monitor := &event.CommandMonitor{Started: func(ctx context.Context, e *event.CommandStartedEvent) {
			if e.CommandName == "abortTransaction" {
				require.NoError(t, db.RunCommand(ctx, bson.D{{Key: "ping", Value: 1}}).Err())
			}
		}}
		inTransaction(t, s, func(ctx context.Context, session *Session, coll *Collection) {
			db = coll.Database()
			require.NoError(t, insertAny(ctx, coll))
			require.NoError(t, session.AbortTransaction(ctx))
		}, options.Client().SetMonitor(monitor))
		assert.Equal(t, []int{1, 1, 1, 1}, connections(s))
	})
}

// TestCommitOfUnknownResultIsUnpinned is about all errors that have the label UnknownTransactionCommitResult, whoever gave it to them
// (transactions.md, "When to unpin").
func TestCommitOfUnknownResultIsUnpinned(t *testing.T) {
	perhapsExecuted := scripted.Failure(462, driver.ErrSystemOverloadedError, driver.ErrRetryableError, driver.RetryableWriteError)
	noConnection := scripted.NoConnection{Err: context.DeadlineExceeded}
	unmarked := scripted.Failure(11, driver.ErrSystemOverloadedError, driver.NoWritesPerformed)
	for _, tt := range []struct {
		name        string
		replies     []any // to the commit
		interrupted bool  // during the first backoff
		unknown     bool
	}{
		{name: "shutdown, twice", replies: scripted.Repeat(2, scripted.ShuttingDown()), unknown: true},
		{name: "maxTimeMS expired", replies: []any{scripted.Failure(50)}, unknown: true},
		{name: "no majority", replies: []any{append(scripted.Failure(251), concernError(64))}, unknown: true},
		{name: "write concern not reached", replies: []any{scripted.OK(concernError(64))}, unknown: true},
		{name: "write concern that cannot be satisfied", replies: []any{scripted.OK(concernError(100))}},
		{name: "network error, twice", replies: scripted.Repeat(2, io.ErrUnexpectedEOF), unknown: true},
		{name: "overload", replies: scripted.Repeat(6, scripted.Overloaded())},
		{name: "overload that may be a retryable write error", replies: scripted.Repeat(6, perhapsExecuted), unknown: true},
		{name: "this one, without time for a retry", replies: []any{perhapsExecuted}, interrupted: true, unknown: true},
		{name: "this one, then no connection", replies: []any{perhapsExecuted, noConnection}, unknown: true},
		{name: "this one, then overload without a retry", replies: []any{perhapsExecuted, unmarked}, unknown: true},
		{name: "overload, without time for a retry", replies: []any{scripted.Overloaded()}, interrupted: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newShardedScript(t, append([]any{scripted.OK()}, tt.replies...)...)
			inTransaction(t, s, func(ctx context.Context, session *Session, coll *Collection) {
				require.NoError(t, insertAny(ctx, coll))
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				if tt.interrupted {
					s.OnSleep = cancel
				}
				err := session.CommitTransaction(ctx)
				require.Error(t, err)
				assert.Equal(t, tt.unknown, errorHasLabel(err, driver.UnknownTransactionCommitResult), "got %v", err)
				pinned := session.clientSession.PinnedServerAddr != nil
				assert.Equal(t, !tt.unknown, pinned)
			})
		})
	}
}

// TestRejectedCommitAfterAnUnknownOne is about a commit that is sent again: its error must not say that nothing was executed.
func TestRejectedCommitAfterAnUnknownOne(t *testing.T) {
	rejected := scripted.Repeat(6, scripted.Rejected())
	s := newShardedScript(t, append([]any{scripted.OK(), io.ErrUnexpectedEOF, io.ErrUnexpectedEOF}, rejected...)...)
	inTransaction(t, s, func(ctx context.Context, session *Session, coll *Collection) {
		require.NoError(t, insertAny(ctx, coll))
		assert.True(t, errorHasLabel(session.CommitTransaction(ctx), driver.UnknownTransactionCommitResult))
		err := session.CommitTransaction(ctx)
		assert.True(t, errorHasLabel(err, driver.ErrSystemOverloadedError), "got %v", err)
		assert.False(t, errorHasLabel(err, driver.ErrRetryableError), "got %v", err)
		assert.False(t, errorHasLabel(err, driver.NoWritesPerformed), "got %v", err)
	})
}

// TestTransientErrorIsUnpinned is about a command whose error is that of an earlier attempt.
func TestTransientErrorIsUnpinned(t *testing.T) {
	transient := scripted.Failure(462, driver.ErrSystemOverloadedError, driver.ErrRetryableError, driver.TransientTransactionError)
	for name, last := range map[string]any{
		"no connection": scripted.NoConnection{Err: context.DeadlineExceeded},
		"overload":      scripted.Failure(11, driver.ErrSystemOverloadedError, driver.NoWritesPerformed),
	} {
		s := newShardedScript(t, scripted.OK(), transient, last, scripted.OK() /* abort */)
		inTransaction(t, s, func(ctx context.Context, session *Session, coll *Collection) {
			require.NoError(t, insertAny(ctx, coll))
			err := insertAny(ctx, coll)
			assert.True(t, errorHasLabel(err, driver.TransientTransactionError), "%s: got %v", name, err)
			assert.Nil(t, session.clientSession.PinnedServerAddr, name)
			require.NoError(t, session.AbortTransaction(ctx))
		})
	}
}

// TestWithTransactionOutlivesAnOutage is about a server that is lost in the retry of a command.
func TestWithTransactionOutlivesAnOutage(t *testing.T) {
	ok := scripted.OK()
	s := newShardedScript(t, ok, scripted.Overloaded(), scripted.NoServer{Err: errNoServer}, ok /* abort */, ok, ok, ok)
	calls := 0
	require.NoError(t, withTransaction(t, s, func(ctx context.Context, coll *Collection) error {
		calls++
		return insertTwice(ctx, coll)
	}))
	assert.Equal(t, 2, calls)
}

// TestWithTransactionUnsentCommit is about a commit of unknown result that was not sent: it is not sent again without a wait.
func TestWithTransactionUnsentCommit(t *testing.T) {
	ok := scripted.OK()
	closed := scripted.NoConnection{Err: scripted.ClosedHandshake()}
	paused := scripted.NoConnection{Err: scripted.PoolPaused()}
	selection := scripted.NoServer{Err: context.DeadlineExceeded}
	for name, replies := range map[string][]any{
		"connection closed":       {closed, closed, closed, closed, ok},
		"pool paused":             {paused, paused, paused, paused, ok},
		"no server":               {selection, selection, ok},
		"after one that was sent": {scripted.ShuttingDown(), closed, scripted.ShuttingDown(), closed, ok},
	} {
		t.Run(name, func(t *testing.T) {
			s := scripted.New(t, append([]any{ok}, replies...)...)
			require.NoError(t, second(insertInTransaction(bgCtx, t, s)))
			assert.Equal(t, halfTransactionBackoffs(2), s.Slept)

			sent := name == "after one that was sent" // it may have taken place
			if !sent {
				replies = replies[:len(replies)/2]
			}
			s = scripted.New(t, append([]any{ok}, replies...)...)
			ctx, cancel := context.WithCancel(bgCtx)
			s.OnSleep = cancel
			_, err := insertInTransaction(ctx, t, s)
			assert.Equal(t, sent, err == nil, "cancelled: got %v", err)
			assert.Equal(t, !sent, errors.Is(err, context.Canceled), "got %v", err)
			assert.Equal(t, !sent, errorHasLabel(err, driver.UnknownTransactionCommitResult), "got %v", err)
		})
	}
}
