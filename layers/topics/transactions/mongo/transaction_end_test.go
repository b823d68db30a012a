package mongo

import (
	"context"
	"io"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

var _ = noted("transactions")

// TestTransactionEndOutlivesTheCall is about the end of a transaction whose caller has gone when the overloaded server rejects it:
// it is sent again, because the locks would stay otherwise.
func TestTransactionEndOutlivesTheCall(t *testing.T) {
	tests := map[string]struct {
		opts  *options.ClientOptions
		first time.Duration // backoff
		sent  int           // if all are rejected; the backoffs are 50, 100, 200, 400 and 800 ms, or 4 s and, four times, 5 s
		total time.Duration
	}{
		"grace":   {opts: options.Client(), first: 100 * time.Millisecond, sent: 4, total: 500 * time.Millisecond},
		"Timeout": {opts: options.Client().SetTimeout(time.Minute), first: 100 * time.Millisecond, sent: 6, total: time.Minute},
		"Timeout that is over": {opts: options.Client().SetTimeout(16 * time.Second), first: 8 * time.Second, sent: 4,
			total: 16 * time.Second},
	}
	for name, tt := range tests {
		for _, ending := range []string{"commitTransaction", "abortTransaction"} {
			count := func(t *testing.T, s *scripted.Script) (n int) {
				for _, command := range commandNames(t, s)[1:] {
					require.Equal(t, ending, command)
					n++
				}
				return n
			}
			// run ends the context as soon as the server has rejected the end of the transaction once.
			run := func(t *testing.T, s *scripted.Script, end error) error {
				s.Policy.FirstBackoff = tt.first
				client := connectScript(t, s, tt.opts)
				session := must(client.StartSession())(t)
				ctx := scripted.NewContext()
				ctx.Until = time.Time{}
				s.OnSleep = func() { s.OnSleep = nil; ctx.End(end) }
				_, err := session.WithTransaction(ctx, func(sc context.Context) (any, error) {
					require.NoError(t, insertAny(sc, client.Database("db").Collection("coll")))
					if ending == "abortTransaction" {
						return nil, errNoServer
					}
					return nil, nil
				})
				return err
			}
			for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
				t.Run(name+"/"+ending+"/"+end.Error(), func(t *testing.T) {
					s := scripted.New(t, scripted.OK(), scripted.Overloaded(), scripted.Overloaded(), scripted.OK())
					err := run(t, s, end)
					s.Finish()
					assert.Equal(t, 3, count(t, s))
					assert.Equal(t, ending == "abortTransaction", err != nil, "got %v", err)

					s = scripted.New(t, scripted.OK())
					s.Rest = scripted.Overloaded()
					require.Error(t, run(t, s, end))
					assert.Equal(t, tt.sent, count(t, s))
					assert.LessOrEqual(t, s.Elapsed, tt.total)
				})
			}
		}
	}
}

// TestAbortAfterTheCall is about an abort that begins when the caller has gone, or is about to go.
func TestAbortAfterTheCall(t *testing.T) {
	tests := map[string]func(*scripted.Script, context.CancelFunc){
		"cancelled":       func(_ *scripted.Script, cancel context.CancelFunc) { cancel() },
		"deadline passed": func(s *scripted.Script, _ context.CancelFunc) { s.Elapsed += time.Hour },
		"deadline close":  func(s *scripted.Script, _ context.CancelFunc) { s.Elapsed += time.Hour - 10*time.Millisecond },
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			s := scripted.New(t, scripted.OK(), scripted.Overloaded(), scripted.Overloaded(), scripted.OK())
			client := connectScript(t, s)
			session := must(client.StartSession())(t)
			ctx, cancel := context.WithTimeout(bgCtx, time.Hour)
			defer cancel()
			_, err := session.WithTransaction(ctx, func(sc context.Context) (any, error) {
				require.NoError(t, insertAny(sc, client.Database("db").Collection("coll")))
				end(s, cancel)
				return nil, errNoServer
			})
			s.Finish()
			assert.Equal(t, errNoServer, err)
			assert.Equal(t, []string{"insert", "abortTransaction", "abortTransaction", "abortTransaction"}, commandNames(t, s))
		})
	}
}

// TestCallThatEndsBeforeItsCommit is about a callback that succeeds although its caller has gone: what it did is aborted.
func TestCallThatEndsBeforeItsCommit(t *testing.T) {
	s := scripted.New(t, scripted.OK(), scripted.OK())
	client := connectScript(t, s)
	session := must(client.StartSession())(t)
	ctx, cancel := context.WithCancel(bgCtx)
	_, err := session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
		defer cancel()
		return nil, insertAny(ctx, client.Database("db").Collection("coll"))
	})
	assert.Equal(t, context.Canceled, err)
	assert.Equal(t, []string{"insert", "abortTransaction"}, commandNames(t, s))
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
		assert.Len(t, s.Slept, tt.slept, "%v: %v", backoff, commandNames(t, s))
	}
}

// TestCommitsBackOffUntilTheCallEnds is about a commit near the end of a call, which has a Timeout of its own: backoffs end with the call.
func TestCommitsBackOffUntilTheCallEnds(t *testing.T) {
	s := newImpatientScript(t, scripted.OK())
	client := connectScript(t, s, options.Client().SetTimeout(time.Minute))
	session := must(client.StartSession())(t)
	require.Error(t, second(session.WithTransaction(bgCtx, func(ctx context.Context) (any, error) {
		s.Elapsed += time.Minute - time.Second
		return nil, insertAny(ctx, client.Database("db").Collection("coll"))
	})))
	assert.LessOrEqual(t, s.Elapsed, time.Minute)
}

// TestCommitWithoutServerInACall is about a commit of WithTransaction that finds no server: that is no success.
func TestCommitWithoutServerInACall(t *testing.T) {
	s := scripted.New(t, scripted.OK(), scripted.NoServer{Err: io.EOF})
	assert.ErrorIs(t, second(insertInTransaction(bgCtx, t, s)), io.EOF)
}

// commitOverTime commits a transaction of one insert. Its time is up in the first backoff.
func commitOverTime(ctx context.Context, t *testing.T, s *scripted.Script, session *Session, coll *Collection) error {
	t.Helper()
	interrupted := endsInBackoff(s, context.DeadlineExceeded)
	require.NoError(t, insertAny(ctx, coll))
	err := session.CommitTransaction(interrupted)
	require.True(t, IsTimeout(err), "got %v", err)
	return err
}

// TestTimedOutCommitMayBeCommitted is about a commit whose time is up after an error that says both that the server is overloaded and
// that the commit may have been carried out: the application's next one waits for the majority (transactions.md, "Majority write
// concern is used when retrying commitTransaction"), and a retryable write instead has a number of its own.
func TestTimedOutCommitMayBeCommitted(t *testing.T) {
	unsure := scripted.Failure(462, driver.ErrSystemOverloadedError, driver.ErrRetryableError, driver.RetryableWriteError)
	s := scripted.New(t, scripted.OK(), unsure, scripted.OK())
	inTransaction(t, s, func(ctx context.Context, session *Session, coll *Collection) {
		_ = commitOverTime(ctx, t, s, session, coll)
		require.NoError(t, session.CommitTransaction(bgCtx))
	})
	concern := must(s.Sent[2].Command.LookupErr("writeConcern", "w"))(t)
	assert.Equal(t, "majority", concern.StringValue())

	s = scripted.New(t, scripted.OK(), unsure, scripted.OK())
	inTransaction(t, s, func(ctx context.Context, session *Session, coll *Collection) {
		_ = commitOverTime(ctx, t, s, session, coll)
		require.NoError(t, insertAny(ctx, coll))
	})
	assert.Equal(t, []any{int64(1), int64(1), int64(2)}, s.Field("txnNumber"))
}

// TestNumbersOfRetryableWrites is about the numbers that a session has given: reads have none, nor do writes to a standalone, batches
// included.
func TestNumbersOfRetryableWrites(t *testing.T) {
	s := scripted.New(t, scripted.OK(firstBatch(0)), scripted.OK(), scripted.OK())
	client := connectScript(t, s)
	session := must(client.StartSession())(t)
	inSession, coll := NewSessionContext(bgCtx, session), client.Database("db").Collection("coll")
	assert.Equal(t, ErrNoDocuments, coll.FindOne(inSession, bson.D{}).Err())
	require.NoError(t, second(coll.InsertMany(inSession, []any{bson.D{}, bson.D{}, bson.D{}})))
	s.Finish()
	assert.Equal(t, []any{nil, int64(1), int64(2)}, s.Field("txnNumber"))

	s = scripted.New(t, scripted.OK(), scripted.OK())
	s.Topology, s.Servers[0].Kind = description.TopologyKindSingle, description.ServerKindStandalone
	client = connectScript(t, s)
	session = must(client.StartSession())(t)
	inSession, coll = NewSessionContext(bgCtx, session), client.Database("db").Collection("coll")
	require.NoError(t, second(coll.InsertMany(inSession, []any{bson.D{}, bson.D{}, bson.D{}})))
	s.Finish()
	assert.Equal(t, int64(0), session.clientSession.TxnNumber)
}

// TestCommitLabelsWriteConcernErrors is about a commit that was made, but not as widely as wanted: servers before 4.4 do not say that it
// can be retried.
func TestCommitLabelsWriteConcernErrors(t *testing.T) {
	tests := []struct {
		name               string
		wire               int32
		code               int
		retryable, unknown bool
	}{
		{"shutdown, before 4.4", 8, 91, true, true},
		{"shutdown, since 4.4", 9, 91, false, true},
		{"timed out, before 4.4", 8, 64, false, true},
		{"unsatisfiable, before 4.4", 8, 100, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := scripted.New(t, scripted.OK())
			s.Rest = scripted.OK(concernError(tt.code))
			s.Servers[0].WireVersion.Max = tt.wire
			inTransaction(t, s, func(ctx context.Context, session *Session, coll *Collection) {
				require.NoError(t, insertAny(ctx, coll))
				err := session.CommitTransaction(ctx)
				assert.Equal(t, tt.retryable, errorHasLabel(err, driver.RetryableWriteError), "got %v", err)
				assert.Equal(t, tt.unknown, errorHasLabel(err, driver.UnknownTransactionCommitResult), "got %v", err)
				failed := asError[CommandError](t, err)
				assert.Equal(t, []any{int32(tt.code), "scripted", "Concern"}, []any{failed.Code, failed.Message, failed.Name})
				assert.NotEmpty(t, failed.Raw)
			})
		})
	}
}
