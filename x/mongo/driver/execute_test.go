package driver_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

const ms = time.Millisecond

func repeat(reply any, n int) []any {
	replies := make([]any, n)
	for i := range replies {
		replies[i] = reply
	}
	return replies
}

func then(replies []any, more ...any) []any { return append(replies, more...) }

func TestExecuteOverload(t *testing.T) {
	type options struct{ noReads, noWrites bool }

	tests := []struct {
		name    string
		op      func(*script) driver.Operation
		options options
		replies []any
		code    int32 // of the error returned; zero for none
		slept   []time.Duration
	}{
		{"a read is retried until it succeeds", (*script).read, options{}, then(repeat(overloaded, 2), ok), 0, []time.Duration{50 * ms, 100 * ms}},
		{"a write is retried until it succeeds", (*script).write, options{}, then(repeat(overloaded, 2), ok), 0, []time.Duration{50 * ms, 100 * ms}},
		{"a command of unknown kind is retried", (*script).command, options{}, then(repeat(overloaded, 2), ok), 0, []time.Duration{50 * ms, 100 * ms}},
		{"a command in a transaction is retried", (*script).transaction, options{}, then(repeat(overloaded, 2), ok), 0, []time.Duration{50 * ms, 100 * ms}},
		{"five times at most", (*script).write, options{}, repeat(overloaded, 6), 462, []time.Duration{50 * ms, 100 * ms, 200 * ms, 400 * ms, 800 * ms}},
		{"retryReads off", (*script).read, options{noReads: true}, repeat(overloaded, 1), 462, nil},
		{"retryWrites off", (*script).write, options{noWrites: true}, repeat(overloaded, 1), 462, nil},
		{"a command of unknown kind needs retryReads", (*script).command, options{noReads: true}, repeat(overloaded, 1), 462, nil},
		{"a command of unknown kind needs retryWrites", (*script).command, options{noWrites: true}, repeat(overloaded, 1), 462, nil},
		{"one label is not enough", (*script).write, options{}, repeat(failure(473, driver.SystemOverloadedError), 1), 473, nil},
		{"nor is the other", (*script).write, options{}, repeat(failure(1, driver.RetryableError), 1), 1, nil},
		{"the limit of five holds for what follows an overload error", (*script).write, options{},
			then(repeat(overloaded, 1), repeat(shuttingDown, 5)...), 91, []time.Duration{50 * ms}},
		{"other errors have no backoff but count for the next", (*script).write, options{},
			[]any{shuttingDown, overloaded, ok}, 0, []time.Duration{100 * ms}},
		{"a broken connection counts too", (*script).read, options{}, []any{io.ErrUnexpectedEOF, overloaded, ok}, 0, []time.Duration{100 * ms}},

		{"a rejected write whose retry is refused by the options is an error", (*script).write, options{noWrites: true}, repeat(rejected, 1), 462, nil},
		{"a rejected write without retries is an error", (*script).transaction, options{noWrites: true}, repeat(rejected, 1), 462, nil},
		{"a rejected write whose retries are used up is an error", (*script).write, options{}, repeat(rejected, 6), 462,
			[]time.Duration{50 * ms, 100 * ms, 200 * ms, 400 * ms, 800 * ms}},
		{"a rejected command is an error", (*script).command, options{noReads: true}, repeat(rejected, 1), 462, nil},
		{"the error that may have written is returned", (*script).write, options{}, then([]any{shuttingDown}, repeat(rejected, 5)...), 91,
			[]time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms}},
		{"also if a later one says that it has not", (*script).write, options{},
			[]any{shuttingDown, overloaded, failure(189, driver.RetryableWriteError, driver.NoWritesPerformed), rejected, rejected, rejected}, 91,
			[]time.Duration{100 * ms, 400 * ms, 800 * ms}},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			s := newScript(t, tt.replies...)
			s.policy.Policy.RetryReads = !tt.options.noReads
			s.policy.Policy.RetryWrites = !tt.options.noWrites

			err := s.execute(context.Background(), tt.op(s))
			if tt.code == 0 {
				require.NoError(t, err)
			} else {
				var serverErr driver.Error
				require.True(t, errors.As(err, &serverErr), "got %T (%v), want a driver.Error", err, err)
				assert.Equal(t, tt.code, serverErr.Code)
			}
			assert.Equal(t, tt.slept, s.slept)
			assert.Len(t, s.sent, len(tt.replies))
		})
	}
}

func TestExecuteOverloadExempt(t *testing.T) {
	s := newScript(t, overloaded)
	s.policy = nil

	err := s.execute(context.Background(), s.command())
	assert.True(t, err.(driver.Error).HasErrorLabel(driver.SystemOverloadedError))
	assert.Empty(t, s.slept)
}

func TestExecuteOverloadDeadline(t *testing.T) {
	s := newScript(t, rejected)
	s.policy.Policy.Jitter = func() float64 { return 1 }
	s.policy.Clock = fixedClock{s, time.Now().Add(time.Hour - 99*ms)}

	ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(time.Hour))
	defer cancel()
	err := s.execute(ctx, s.write())
	assert.Equal(t, int32(462), err.(driver.Error).Code)
	assert.Empty(t, s.slept)
}

// fixedClock is a clock that stands still.
type fixedClock struct {
	driver.Clock
	now time.Time
}

func (c fixedClock) Now() time.Time { return c.now }

func TestExecuteOverloadCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := newScript(t, rejected)
	s.onSleep = cancel

	err := s.execute(ctx, s.write())
	assert.True(t, errors.Is(err, context.Canceled), "%v is not context.Canceled", err)
	var serverErr driver.Error
	require.True(t, errors.As(err, &serverErr))
	assert.Equal(t, int32(462), serverErr.Code)
	assert.True(t, serverErr.HasErrorLabel(driver.SystemOverloadedError))
}

func TestExecuteOverloadKeepsTransactionNumber(t *testing.T) {
	s := newScript(t, overloaded, shuttingDown, overloaded, ok)
	require.NoError(t, s.execute(context.Background(), s.write()))
	assert.Equal(t, []any{int64(1), int64(1), int64(1), int64(1)}, s.field("txnNumber"))
}

func TestExecuteOverloadStartsTransactionOnce(t *testing.T) {
	s := newScript(t, overloaded, overloaded, ok, overloaded, ok)
	op := s.transaction()
	require.NoError(t, op.Execute(context.Background()))
	require.NoError(t, s.execute(context.Background(), op))

	assert.Equal(t, []any{true, true, true, nil, nil}, s.field("startTransaction"))
	assert.Equal(t, []any{int64(1), int64(1), int64(1), int64(1), int64(1)}, s.field("txnNumber"))
}

func TestExecuteOverloadCommit(t *testing.T) {
	commit := func(s *script) driver.Operation {
		op := s.write()
		op.Client = newSession(t)
		require.NoError(t, op.Client.StartTransaction(nil))
		require.NoError(t, op.Client.ApplyCommand(s.servers[0]))
		op.Client.Committing = true
		op.WriteConcern = &writeconcern.WriteConcern{W: 1}
		return op
	}

	t.Run("keeps the write concern after overload errors", func(t *testing.T) {
		s := newScript(t, overloaded, overloaded, ok)
		require.NoError(t, s.execute(context.Background(), commit(s)))
		assert.Equal(t, []any{int32(1), int32(1), int32(1)}, s.field("writeConcern", "w"))
	})
	t.Run("uses majority after any other", func(t *testing.T) {
		s := newScript(t, overloaded, shuttingDown, overloaded, ok)
		require.NoError(t, s.execute(context.Background(), commit(s)))
		assert.Equal(t, []any{int32(1), int32(1), "majority", "majority"}, s.field("writeConcern", "w"))
	})
}

func TestExecuteOverloadBatches(t *testing.T) {
	docs := make([]bsoncore.Document, 3) // in batches of two
	for i := range docs {
		docs[i] = bsoncore.NewDocumentBuilder().AppendInt32("_id", int32(i)).Build()
	}
	insert := func(s *script) driver.Operation {
		op := s.write()
		op.Batches = &driver.Batches{Identifier: "documents", Documents: docs}
		return op
	}

	t.Run("each batch has retries of its own", func(t *testing.T) {
		s := newScript(t, then(then(repeat(overloaded, 5), ok), then(repeat(overloaded, 5), ok)...)...)
		require.NoError(t, s.execute(context.Background(), insert(s)))

		first := bson.A{bson.D{{Key: "_id", Value: int32(0)}}, bson.D{{Key: "_id", Value: int32(1)}}}
		second := bson.A{bson.D{{Key: "_id", Value: int32(2)}}}
		assert.Equal(t, then(repeat(first, 6), repeat(second, 6)...), s.field("documents"))
		assert.Equal(t, then(repeat(int64(1), 6), repeat(int64(2), 6)...), s.field("txnNumber"))
	})
	t.Run("a batch that is given up ends the write", func(t *testing.T) {
		s := newScript(t, then([]any{ok}, repeat(rejected, 6)...)...)
		err := s.execute(context.Background(), insert(s))
		assert.Equal(t, int32(462), err.(driver.Error).Code)
	})
}

func TestExecuteOverloadDeprioritizesServers(t *testing.T) {
	secondaries := func(s *script) {
		for _, host := range []string{"b", "c"} {
			s.servers = append(s.servers, mockServer(host, description.ServerKindRSSecondary))
		}
	}

	t.Run("overload errors on every topology", func(t *testing.T) {
		s := newScript(t, overloaded, overloaded, ok)
		secondaries(s)
		require.NoError(t, s.execute(context.Background(), s.read()))
		assert.Equal(t, []address.Address{"a:27017", "b:27017", "c:27017"}, s.selected)
	})
	t.Run("other errors not on replica sets", func(t *testing.T) {
		s := newScript(t, shuttingDown, ok)
		secondaries(s)
		require.NoError(t, s.execute(context.Background(), s.read()))
		assert.Equal(t, []address.Address{"a:27017", "a:27017"}, s.selected)
	})
	t.Run("other errors on sharded clusters", func(t *testing.T) {
		s := newScript(t, shuttingDown, overloaded, ok)
		s.kind = description.TopologyKindSharded
		s.servers = nil
		for _, host := range []string{"a", "b", "c"} {
			s.servers = append(s.servers, mockServer(host, description.ServerKindMongos))
		}
		require.NoError(t, s.execute(context.Background(), s.read()))
		assert.Equal(t, []address.Address{"a:27017", "b:27017", "c:27017"}, s.selected)
	})
	t.Run("unless no other is left", func(t *testing.T) {
		s := newScript(t, overloaded, ok)
		require.NoError(t, s.execute(context.Background(), s.write()))
		assert.Equal(t, []address.Address{"a:27017", "a:27017"}, s.selected)
	})
}

func TestExecuteEachCommandStartedEnds(t *testing.T) {
	var events []string
	s := newScript(t, overloaded, io.ErrUnexpectedEOF, ok)
	op := s.read()
	op.CommandMonitor = &event.CommandMonitor{
		Started:   func(context.Context, *event.CommandStartedEvent) { events = append(events, "started") },
		Succeeded: func(context.Context, *event.CommandSucceededEvent) { events = append(events, "succeeded") },
		Failed:    func(context.Context, *event.CommandFailedEvent) { events = append(events, "failed") },
	}
	require.NoError(t, s.execute(context.Background(), op))
	assert.Equal(t, []string{"started", "failed", "started", "failed", "started", "succeeded"}, events)
}

// reauthenticator counts the reauthentications.
type reauthenticator struct {
	driver.Authenticator
	n int
}

func (a *reauthenticator) Reauth(context.Context, *driver.AuthConfig) error {
	a.n++
	return nil
}

func TestExecuteReauthenticationIsNoRetry(t *testing.T) {
	s := newScript(t, then([]any{failure(391)}, repeat(overloaded, 6)...)...)
	auth := &reauthenticator{}
	op := s.write()
	op.Authenticator = auth

	err := s.execute(context.Background(), op)
	assert.Equal(t, int32(462), err.(driver.Error).Code)
	assert.Equal(t, 1, auth.n)
	assert.Equal(t, []time.Duration{50 * ms, 100 * ms, 200 * ms, 400 * ms, 800 * ms}, s.slept)
}
