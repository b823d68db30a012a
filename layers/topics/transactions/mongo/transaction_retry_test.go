package mongo

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
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
		"what a monitor runs meanwhile is not": {[]any{ok, rejected, ok, ok}, (*Session).AbortTransaction, []int{1, 1, 1, 1},
			[]any{true, nil, nil, nil}},
	} {
		s := newLoadBalancedScript(t, tt.replies...)
		var db *Database
		monitor := &event.CommandMonitor{Started: func(ctx context.Context, e *event.CommandStartedEvent) {
			if e.CommandName == "abortTransaction" && strings.Contains(name, "monitor") {
				require.NoError(t, db.RunCommand(ctx, bson.D{{Key: "ping", Value: 1}}).Err())
			}
		}}
		inTransaction(t, s, func(ctx context.Context, session *Session, coll *Collection) {
			db = coll.Database()
			require.NoError(t, insertAny(ctx, coll), name)
			require.NoError(t, tt.end(session, ctx), name)
		}, options.Client().SetMonitor(monitor))
		assert.Equal(t, tt.connections, connections(s), name)
		assert.Equal(t, tt.begins, s.Field("startTransaction"), name)
	}
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
		s := newShardedScript(t, append([]any{scripted.OK()}, tt.replies...)...)
		inTransaction(t, s, func(ctx context.Context, session *Session, coll *Collection) {
			require.NoError(t, insertAny(ctx, coll), tt.name)
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			if tt.interrupted {
				s.OnSleep = cancel
			}
			err := session.CommitTransaction(ctx)
			require.Error(t, err, tt.name)
			assert.Equal(t, tt.unknown, errorHasLabel(err, driver.UnknownTransactionCommitResult), "%s: %v", tt.name, err)
			assert.Equal(t, tt.unknown, session.clientSession.PinnedServerAddr == nil, tt.name)
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
	assert.Equal(t, 2, must(transact(bgCtx, t, s, insertAny))(t))
	s.Finish()
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
		s := scripted.New(t, append([]any{ok}, replies...)...)
		require.NoError(t, second(insertInTransaction(bgCtx, t, s)), name)
		assert.Equal(t, []time.Duration{firstTransactionBackoff / 2, firstTransactionBackoff * 3 / 4}, s.Slept, name)

		sent := name == "after one that was sent" // it may have taken place
		if !sent {
			replies = replies[:len(replies)/2]
		}
		s = scripted.New(t, append([]any{ok}, replies...)...)
		ctx, cancel := context.WithCancel(bgCtx)
		s.OnSleep = cancel
		_, err := insertInTransaction(ctx, t, s)
		assert.Equal(t, sent, err == nil, "%s, cancelled: got %v", name, err)
		assert.Equal(t, !sent, errors.Is(err, context.Canceled), "%s: got %v", name, err)
		assert.Equal(t, !sent, errorHasLabel(err, driver.UnknownTransactionCommitResult), "%s: got %v", name, err)
	}
}

func init() { topics["transactions"] = true }

// TestTransactionEndOutlivesTheCall is about the end of a transaction whose caller has gone when the overloaded server rejects it:
// it is sent again, because the locks would stay otherwise.
func TestTransactionEndOutlivesTheCall(t *testing.T) {
	for name, tt := range map[string]struct {
		opts  *options.ClientOptions
		first time.Duration // backoff
		sent  int           // if all are rejected; the backoffs are 50, 100, 200, 400 and 800 ms, or 4 s and, four times, 5 s
		total time.Duration
	}{
		"grace":                {options.Client(), 100 * time.Millisecond, 4, 500 * time.Millisecond},
		"Timeout":              {options.Client().SetTimeout(time.Minute), 100 * time.Millisecond, 6, time.Minute},
		"Timeout that is over": {options.Client().SetTimeout(16 * time.Second), 8 * time.Second, 4, 16 * time.Second},
	} {
		for ending, result := range map[string]error{"commitTransaction": nil, "abortTransaction": errNoServer} {
			for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
				// run ends the context as soon as the server has rejected the end of the transaction once. It returns how often that came.
				run := func(s *scripted.Script) (int, error) {
					s.Policy.FirstBackoff = tt.first
					ctx := scripted.NewContext()
					ctx.Until = time.Time{}
					s.OnSleep = func() { s.OnSleep = nil; ctx.End(end) }
					_, err := transact(ctx, t, s, func(context.Context, *Collection) error { return result }, tt.opts)
					names := commandNames(s)[1:]
					for _, command := range names {
						require.Equal(t, ending, command)
					}
					return len(names), err
				}
				of := name + "/" + ending + "/" + end.Error()
				s := scripted.New(t, scripted.OK(), scripted.Overloaded(), scripted.Overloaded(), scripted.OK())
				sent, err := run(s)
				s.Finish()
				assert.Equal(t, 3, sent, of)
				assert.Equal(t, result, err, of)

				s = lasting(t, scripted.Overloaded(), scripted.OK())
				sent, err = run(s)
				require.Error(t, err, of)
				assert.Equal(t, tt.sent, sent, of)
				assert.LessOrEqual(t, s.Elapsed, tt.total, of)
			}
		}
	}
}

// TestAbortAfterTheCall is about an abort that begins when the caller has gone, or is about to go.
func TestAbortAfterTheCall(t *testing.T) {
	for name, end := range map[string]func(*scripted.Script, context.CancelFunc){
		"cancelled":       func(_ *scripted.Script, cancel context.CancelFunc) { cancel() },
		"deadline passed": func(s *scripted.Script, _ context.CancelFunc) { s.Elapsed += time.Hour },
		"deadline close":  func(s *scripted.Script, _ context.CancelFunc) { s.Elapsed += time.Hour - 10*time.Millisecond },
	} {
		s := scripted.New(t, scripted.OK(), scripted.Overloaded(), scripted.Overloaded(), scripted.OK())
		ctx, cancel := context.WithTimeout(bgCtx, time.Hour)
		defer cancel()
		_, err := transact(ctx, t, s, func(context.Context, *Collection) error {
			end(s, cancel)
			return errNoServer
		})
		s.Finish()
		assert.Equal(t, errNoServer, err, name)
		assert.Equal(t, []string{"insert", "abortTransaction", "abortTransaction", "abortTransaction"}, commandNames(s), name)
	}
}

// TestCallThatEndsBeforeItsCommit is about a callback that succeeds although its caller has gone: what it did is aborted.
func TestCallThatEndsBeforeItsCommit(t *testing.T) {
	s := scripted.New(t, scripted.OK(), scripted.OK())
	ctx, cancel := context.WithCancel(bgCtx)
	_, err := transact(ctx, t, s, func(context.Context, *Collection) error {
		cancel()
		return nil
	})
	assert.Equal(t, context.Canceled, err)
	assert.Equal(t, []string{"insert", "abortTransaction"}, commandNames(s))
}

// TestTimeOfAnAbort is about how long an abort is tried again, after a call of a tenth of a second and after one without a limit
// (client-side-operations-timeout.md, "Convenient Transactions API").
func TestTimeOfAnAbort(t *testing.T) {
	for backoff, tt := range map[time.Duration]struct {
		limit time.Duration
		slept int
	}{
		200 * time.Millisecond: {100 * time.Millisecond, 2}, // in the grace after the call
		longBackoff:            {0, 1},                      // in ten seconds
	} {
		s := newImpatientScript(t, scripted.Failure(1))
		s.Policy.Jitter = func() float64 { return float64(backoff) / float64(retry.MaxBackoff) }
		ctx := scripted.NewContext()
		ctx.Until = time.Time{}
		if tt.limit > 0 {
			ctx.Until = s.Now().Add(tt.limit)
		}
		require.Error(t, insertWithTransaction(ctx, scriptColl(t, s)))
		assert.Len(t, s.Slept, tt.slept, "%v: %v", backoff, commandNames(s))
	}
}

// TestCommitsBackOffUntilTheCallEnds is about a commit near the end of a call, which has a Timeout of its own: backoffs end with the call.
func TestCommitsBackOffUntilTheCallEnds(t *testing.T) {
	s := newImpatientScript(t, scripted.OK())
	require.Error(t, second(transact(bgCtx, t, s, func(context.Context, *Collection) error {
		s.Elapsed += time.Minute - time.Second
		return nil
	}, options.Client().SetTimeout(time.Minute))))
	assert.LessOrEqual(t, s.Elapsed, time.Minute)
}

// TestCommitWithoutServerInACall is about a commit of WithTransaction that finds no server: that is no success.
func TestCommitWithoutServerInACall(t *testing.T) {
	s := scripted.New(t, scripted.OK(), scripted.NoServer{Err: io.EOF})
	assert.ErrorIs(t, second(insertInTransaction(bgCtx, t, s)), io.EOF)
}

// TestTimedOutCommitMayBeCommitted is about a commit whose time is up after an error that says both that the server is overloaded and
// that the commit may have been carried out: the application's next one waits for the majority (transactions.md, "Majority write
// concern is used when retrying commitTransaction"), and a retryable write instead has a number of its own.
func TestTimedOutCommitMayBeCommitted(t *testing.T) {
	unsure := scripted.Failure(462, driver.ErrSystemOverloadedError, driver.ErrRetryableError, driver.RetryableWriteError)
	for _, again := range []bool{true, false} {
		s := scripted.New(t, scripted.OK(), unsure, scripted.OK())
		inTransaction(t, s, func(ctx context.Context, session *Session, coll *Collection) {
			require.NoError(t, insertAny(ctx, coll))
			err := session.CommitTransaction(endsInBackoff(s, context.DeadlineExceeded))
			require.True(t, IsTimeout(err), "got %v", err)
			if again {
				require.NoError(t, session.CommitTransaction(bgCtx))
				assert.Equal(t, "majority", s.Field("writeConcern", "w")[2])
				return
			}
			require.NoError(t, insertAny(ctx, coll))
			assert.Equal(t, []any{int64(1), int64(1), int64(2)}, s.Field("txnNumber"))
		})
	}
}

// TestNumbersOfRetryableWrites: neither reads get numbers of the session, nor writes to a standalone, batches included.
func TestNumbersOfRetryableWrites(t *testing.T) {
	s := scripted.New(t, scripted.OK(firstBatch(0)), scripted.OK(), scripted.OK())
	coll := scriptColl(t, s)
	inSession := NewSessionContext(bgCtx, must(coll.client.StartSession())(t))
	assert.Equal(t, ErrNoDocuments, coll.FindOne(inSession, bson.D{}).Err())
	require.NoError(t, calling("Collection.InsertMany", twoBatches...)(inSession, coll))
	s.Finish()
	assert.Equal(t, []any{nil, int64(1), int64(2)}, s.Field("txnNumber"))

	s = scripted.New(t, scripted.OK(), scripted.OK())
	s.Topology, s.Servers[0].Kind = description.TopologyKindSingle, description.ServerKindStandalone
	coll = scriptColl(t, s)
	session := must(coll.client.StartSession())(t)
	require.NoError(t, calling("Collection.InsertMany", twoBatches...)(NewSessionContext(bgCtx, session), coll))
	s.Finish()
	assert.Equal(t, int64(0), session.clientSession.TxnNumber)
}
