package driver_test

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
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/session"
)

const ms = time.Millisecond

// backoffs are those of five retries.
var backoffs = []time.Duration{50 * ms, 100 * ms, 200 * ms, 400 * ms, 800 * ms}

func then(replies []any, more ...any) []any { return append(replies, more...) }

// overloadedWriteConcern is the reply of a server that has not got to the write concern.
var overloadedWriteConcern = scripted.OK(scripted.WriteConcernError(462, driver.ErrSystemOverloadedError, driver.ErrRetryableError))

func TestExecuteOverload(t *testing.T) {
	read, write, command, transaction := (*scripted.Script).Read, (*scripted.Script).Write, (*scripted.Script).Command,
		(*scripted.Script).Transaction
	overloaded, rejected, shuttingDown, ok := scripted.Overloaded(), scripted.Rejected(), scripted.ShuttingDown(), scripted.OK()
	twice, mayHaveWritten := []any{overloaded, overloaded, ok}, then([]any{shuttingDown}, scripted.Repeat(5, rejected)...)
	for _, tt := range []struct {
		name    string
		op      func(*scripted.Script) driver.Operation
		off     string // retryReads or retryWrites
		replies []any
		code    int32 // of the error returned; zero for none
		slept   []time.Duration
	}{
		{"a read is retried until it succeeds", read, "", twice, 0, backoffs[:2]},
		{"a write is retried until it succeeds", write, "", twice, 0, backoffs[:2]},
		{"a command of unknown kind is retried", command, "", twice, 0, backoffs[:2]},
		{"a command in a transaction is retried", transaction, "", twice, 0, backoffs[:2]},
		{"the labels of a write concern error count", write, "", []any{overloadedWriteConcern, ok}, 0, backoffs[:1]},
		{"one label is not enough", write, "", []any{scripted.Failure(473, driver.ErrSystemOverloadedError)}, 473, nil},
		{"nor is the other", write, "", []any{scripted.Failure(1, driver.ErrRetryableError)}, 1, nil},
		{"a broken connection has no backoff but counts for the next", read, "", []any{io.ErrUnexpectedEOF, overloaded, ok}, 0, backoffs[1:2]},

		{"a rejected write whose retry the options refuse is an error", write, "retryWrites", []any{rejected}, 462, nil},
		{"a rejected write without retries is an error", transaction, "retryWrites", []any{rejected}, 462, nil},
		{"a rejected write whose retries are used up is an error", write, "", scripted.Repeat(6, rejected), 462, backoffs},
		{"a rejected command is an error", command, "retryReads", []any{rejected}, 462, nil},
		{"the error that may have written is returned", write, "", mayHaveWritten, 91, backoffs[1:]},
		{"of a read it is the latest, whatever it says of writes", read, "", mayHaveWritten, 462, backoffs[1:]},
		{"also if a later one says that it has not", write, "", []any{shuttingDown, rejected,
			scripted.Failure(189, driver.RetryableWriteError, driver.NoWritesPerformed), rejected, rejected, rejected},
			91, []time.Duration{100 * ms, 400 * ms, 800 * ms}},
	} {
		s := scripted.New(t, tt.replies...)
		s.Policy.RetryReads, s.Policy.RetryWrites = tt.off != "retryReads", tt.off != "retryWrites"
		err := s.Execute(context.Background(), tt.op(s))
		if tt.code == 0 {
			require.NoError(t, err, tt.name)
		} else {
			assert.Equal(t, tt.code, scripted.As[driver.Error](t, err).Code, tt.name)
		}
		assert.Equal(t, tt.slept, s.Slept, tt.name)
		assert.Len(t, s.Sent, len(tt.replies), tt.name)
	}
}

// TestExecuteOverloadLimitUnderTimeout: under a client-side timeout, other errors alone are retried as long as there is time.
func TestExecuteOverloadLimitUnderTimeout(t *testing.T) {
	hour, mode := time.Hour, driver.RetryContext
	for _, set := range []func(*driver.Operation){
		func(op *driver.Operation) { op.Timeout = &hour },
		func(op *driver.Operation) { op.RetryMode = &mode }, // which says so
	} {
		s := scripted.New(t, then(scripted.Repeat(20, scripted.ShuttingDown()), scripted.OK())...)
		op := s.Write()
		set(&op)
		require.NoError(t, s.Execute(context.Background(), op))
	}
}

func TestExecuteInvalidOperation(t *testing.T) {
	notExecuted := false
	require.Error(t, driver.Operation{NotExecuted: &notExecuted}.Execute(context.Background()))
	assert.True(t, notExecuted)
}

func TestExecuteOverloadKeepsTransactionNumber(t *testing.T) {
	s := scripted.New(t, scripted.Overloaded(), scripted.ShuttingDown(), scripted.Overloaded(), scripted.OK())
	require.NoError(t, s.Execute(context.Background(), s.Write()))
	assert.Equal(t, []any{int64(1), int64(1), int64(1), int64(1)}, s.Field("txnNumber"))
}

func TestExecuteOverloadStartsTransactionOnce(t *testing.T) {
	s := scripted.New(t, scripted.Overloaded(), scripted.Overloaded(), scripted.OK(), scripted.Overloaded(), scripted.OK())
	op := s.Transaction()
	require.NoError(t, op.Execute(context.Background()))
	require.NoError(t, s.Execute(context.Background(), op))
	assert.Equal(t, []any{true, true, true, nil, nil}, s.Field("startTransaction"))
	assert.Equal(t, []any{int64(1), int64(1), int64(1), int64(1), int64(1)}, s.Field("txnNumber"))
}

// TestExecuteOverloadCommit: the write concern is kept after overload errors, and becomes majority after any other.
func TestExecuteOverloadCommit(t *testing.T) {
	rejected, concern := scripted.Overloaded(), int32(1)
	for _, tt := range []struct{ replies, want []any }{
		{[]any{rejected, rejected, scripted.OK()}, []any{concern, concern, concern}},
		{[]any{rejected, scripted.ShuttingDown(), rejected, scripted.OK()}, []any{concern, concern, "majority", "majority"}},
	} {
		s := scripted.New(t, tt.replies...)
		op := s.Commit()
		op.WriteConcern = &writeconcern.WriteConcern{W: 1}
		require.NoError(t, s.Execute(context.Background(), op))
		assert.Equal(t, tt.want, s.Field("writeConcern", "w"))
	}
}

// TestExecuteOverloadDeprioritizesServers: overload errors do on every topology, unless no other server is left, other errors only in
// sharded clusters. The server is known by its address, as its description changes.
func TestExecuteOverloadDeprioritizesServers(t *testing.T) {
	replicaSet, secondary := description.TopologyKindReplicaSetNoPrimary, description.ServerKindRSSecondary
	rejected, shuttingDown, ok := scripted.Overloaded(), scripted.ShuttingDown(), scripted.OK()
	for _, tt := range []struct {
		topology description.TopologyKind
		kind     description.ServerKind
		hosts    string
		replies  []any
		want     []address.Address
	}{
		{replicaSet, secondary, "abc", []any{rejected, rejected, ok}, []address.Address{"a:27017", "b:27017", "c:27017"}},
		{replicaSet, secondary, "abc", []any{shuttingDown, ok}, []address.Address{"a:27017", "a:27017"}},
		{description.TopologyKindSharded, description.ServerKindMongos, "abc", []any{shuttingDown, rejected, ok},
			[]address.Address{"a:27017", "b:27017", "c:27017"}},
		{replicaSet, secondary, "a", []any{rejected, ok}, []address.Address{"a:27017", "a:27017"}},
	} {
		s := scripted.New(t, tt.replies...)
		s.Topology, s.Servers = tt.topology, nil
		for _, host := range strings.Split(tt.hosts, "") {
			s.Servers = append(s.Servers, scripted.Server(host, tt.kind))
		}
		s.OnSleep = func() { s.Servers[0].AverageRTT += time.Second }
		require.NoError(t, s.Execute(context.Background(), s.Read()))
		assert.Equal(t, tt.want, s.Selected)
	}
}

func TestExecuteEachCommandStartedEnds(t *testing.T) {
	var events []string
	s := scripted.New(t, scripted.Overloaded(), io.ErrUnexpectedEOF, scripted.OK())
	s.Servers[0].ServiceID = &bson.ObjectID{1}
	op := s.Read()
	var started event.CommandStartedEvent
	ended := func(e event.CommandFinishedEvent) {
		assert.Equal(t, event.CommandFinishedEvent{
			Duration: e.Duration, CommandName: started.CommandName, DatabaseName: started.DatabaseName, RequestID: started.RequestID,
			ConnectionID: started.ConnectionID, ServerConnectionID: started.ServerConnectionID, ServiceID: started.ServiceID,
		}, e)
		assert.Greater(t, e.Duration, time.Duration(0))
	}
	op.CommandMonitor = &event.CommandMonitor{
		Started: func(_ context.Context, e *event.CommandStartedEvent) {
			started, events = *e, append(events, "started")
			assert.Equal(t, s.Servers[0].ServiceID, e.ServiceID)
			assert.Equal(t, int64(100+len(events)/2+1), *e.ServerConnectionID)
		},
		Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) {
			events = append(events, "succeeded")
			ended(e.CommandFinishedEvent)
			assert.Equal(t, int32(1), e.Reply.Lookup("ok").Int32())
		},
		Failed: func(_ context.Context, e *event.CommandFailedEvent) {
			events = append(events, "failed")
			ended(e.CommandFinishedEvent)
			assert.Error(t, e.Failure)
		},
	}
	require.NoError(t, s.Execute(context.Background(), op))
	assert.Equal(t, []string{"started", "failed", "started", "failed", "started", "succeeded"}, events)
}

// pinnedForGood is the connection of a transaction that cannot be unpinned.
type pinnedForGood struct {
	session.LoadBalancedTransactionConnection
}

var errPinnedForGood = errors.New("pinned for good")

func (pinnedForGood) UnpinFromTransaction() error { return errPinnedForGood }

// TestExecuteThatCannotUnpin is about a transaction whose state is lost, or that may begin elsewhere: nothing is sent again.
func TestExecuteThatCannotUnpin(t *testing.T) {
	transient := scripted.Failure(462, driver.ErrSystemOverloadedError, driver.ErrRetryableError, driver.TransientTransactionError)
	unwritten := scripted.Failure(11, driver.ErrSystemOverloadedError, driver.NoWritesPerformed)
	for _, replies := range [][]any{{scripted.Failure(251, driver.TransientTransactionError)}, {scripted.Overloaded()}, {transient, unwritten}} {
		s := scripted.New(t, replies...)
		s.Topology, s.Servers[0].Kind = description.TopologyKindLoadBalanced, description.ServerKindLoadBalancer
		op := s.Transaction()
		if len(replies) > 1 { // a rejected command keeps its server, and the error in the end is the first one
			op.Client.TransactionState = session.InProgress
		}
		op.CommandMonitor = &event.CommandMonitor{Failed: func(context.Context, *event.CommandFailedEvent) {
			if len(s.Sent) == len(replies) {
				op.Client.PinnedConnection = pinnedForGood{op.Client.PinnedConnection}
			}
		}}
		assert.ErrorIs(t, op.Execute(context.Background()), errPinnedForGood)
		assert.Len(t, s.Sent, len(replies))
	}
}

// TestExecuteReauthenticationStrengthensCommit is about a commit that is sent again (transactions.md, "Majority write concern is used
// when retrying commitTransaction").
func TestExecuteReauthenticationStrengthensCommit(t *testing.T) {
	s := scripted.New(t, scripted.Failure(391), scripted.OK())
	op := s.Commit()
	op.Authenticator = &reauthentications{}
	require.NoError(t, s.Execute(context.Background(), op))
	assert.Equal(t, []any{nil, "majority"}, s.Field("writeConcern", "w"))
}

func hasCode(code int32) func(*testing.T, error) {
	return func(t *testing.T, err error) {
		t.Helper()
		assert.Equal(t, code, scripted.As[driver.Error](t, err).Code)
	}
}

var writeError = scripted.OK(bson.E{Key: "writeErrors", Value: bson.A{bson.D{{Key: "index", Value: 0}, {Key: "code", Value: 11000}}}})

// documents returns n documents.
func documents(n int) []bsoncore.Document {
	docs := make([]bsoncore.Document, n)
	for i := range docs {
		docs[i] = bsoncore.NewDocumentBuilder().AppendInt32("_id", int32(i)).Build()
	}
	return docs
}

// drained returns a bucket that has paid for five retries of each of n commands.
func drained(t *testing.T, n int) *retry.TokenBucket {
	bucket := retry.NewTokenBucket()
	for i := 0; i < n; i++ {
		s := scripted.New(t, scripted.Repeat(6, scripted.Overloaded())...)
		s.Policy.Bucket = bucket
		require.Error(t, s.Execute(context.Background(), s.Write()))
	}
	return bucket
}

func TestExecuteTokenBucket(t *testing.T) {
	const full = 1000
	for _, tt := range []struct {
		name    string
		drained int // commands that are given up after five retries, before the one that is tested
		replies []any
		want    float64 // tokens left
	}{
		{"a success", 1, []any{scripted.OK()}, full - 5 + 0.1},
		{"a retry that succeeds", 1, []any{scripted.Overloaded(), scripted.OK()}, full - 5 - 1 + 1.1},
		{"write errors are a success", 1, []any{writeError}, full - 5 + 0.1},
		{"write errors of a retry are a success", 1, []any{scripted.Overloaded(), writeError}, full - 5 - 1 + 1.1},
		{"no token", 200, []any{scripted.Overloaded()}, 0},
	} {
		s := scripted.New(t, tt.replies...)
		bucket := drained(t, tt.drained)
		s.Policy.Bucket = bucket
		_ = s.Execute(context.Background(), s.Write())
		assert.InDelta(t, tt.want, bucket.Tokens(), 1e-9, tt.name)
	}
}

// clearedFor is a pool that was cleared for the failure with this message.
type clearedFor string

func (clearedFor) Error() string   { return "cleared" }
func (clearedFor) Retryable() bool { return true }
func (c clearedFor) ClearedFor(failure error) bool {
	var failed scripted.BrokenHandshake
	return errors.As(failure, &failed) && failed.Cause.Message == string(c)
}

// TestExecuteMeetsItsOwnClearing is about a retry that comes before the pool is cleared for the failure of the first attempt: that is not
// a second failure.
func TestExecuteMeetsItsOwnClearing(t *testing.T) {
	one := scripted.BrokenHandshake{Cause: driver.Error{Message: "one", Labels: []string{driver.NetworkError}}}
	other := scripted.BrokenHandshake{Cause: driver.Error{Message: "other", Labels: []string{driver.NetworkError}}}
	for _, tt := range []struct {
		name    string
		replies []any
		ok      bool
	}{
		{"once", []any{one, clearedFor("one"), scripted.OK()}, true},
		{"another command's", []any{one, clearedFor("other")}, false},
		{"twice", []any{one, clearedFor("one"), clearedFor("one")}, false},
		{"before it failed itself", []any{clearedFor("one"), one}, false},
		{"and fails again", []any{one, clearedFor("one"), other}, false},
		{"after another failure", []any{one, scripted.Overloaded(), clearedFor("one"), scripted.Overloaded(), scripted.OK()}, true},
	} {
		for _, op := range []func(*scripted.Script) driver.Operation{(*scripted.Script).Read, (*scripted.Script).Write} {
			s := scripted.New(t, tt.replies...)
			err := s.Execute(context.Background(), op(s))
			assert.Equal(t, tt.ok, err == nil, "%s: %v", tt.name, err)
			assert.Len(t, s.Selected, len(tt.replies), tt.name)
		}
	}
}
