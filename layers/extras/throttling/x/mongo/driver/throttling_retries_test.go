package driver_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/logger"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/internal/throttle"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// lasting returns a script without the option adaptiveThrottling, with a server that has rejected everything for a time, and servers that
// have accepted everything.
func lasting(t *testing.T, age time.Duration, replies []any, accepting ...string) *scripted.Script {
	s := throttled(t, replies, nil, append([]string{"a"}, accepting...)...)
	s.Policy.Throttling = throttle.Retries
	now := time.Unix(1, 0)
	s.Throttles["a:27017"] = throttle.New(func() time.Time { return now }, s.Policy.Jitter, throttle.Retries)
	for end := now.Add(age); !now.After(end); now = now.Add(100 * ms) {
		reject(s, "a", 9)
	}
	now = now.Add(-100 * ms)
	return s
}

const overloadLastsText = "overloadLasts: the server accepts so little that a retry would only take the place of another command"

// TestRetriesOfALastingOverload: without the option, first attempts are sent, and retries until the overload has lasted for a second. The
// command then ends with the server's error, and the RetryError, the events and the log line say why.
func TestRetriesOfALastingOverload(t *testing.T) {
	for _, tt := range []struct {
		name  string
		age   time.Duration
		op    func(*scripted.Script) driver.Operation
		reply any
		sent  int
	}{
		{name: "a read", age: 2 * time.Second, op: (*scripted.Script).Read, reply: scripted.Overloaded(), sent: 1},
		{name: "a write", age: 2 * time.Second, op: (*scripted.Script).Write, reply: scripted.Rejected(), sent: 1},
		{name: "a burst", age: time.Second, op: (*scripted.Script).Read, reply: scripted.Overloaded(), sent: 6},
		{name: "in a transaction", age: 2 * time.Second, op: laterInTransaction, reply: scripted.Overloaded(), sent: 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := lasting(t, tt.age, nil)
			s.Rest, s.Policy.Bucket = tt.reply, retry.NewTokenBucket()
			r := record(s)
			sink := logTo(t, s, logger.LevelInfo)
			err := s.Execute(context.Background(), tt.op(s))
			hasCode(462)(t, err)
			assert.Len(t, s.Sent, tt.sent)
			var retries *event.RetryError
			require.True(t, errors.As(err, &retries))
			if tt.sent == 6 {
				assert.Equal(t, event.RetryReasonLimit, retries.Reason)
				return
			}
			assert.Equal(t, &event.RetryError{
				Attempts: 2, Retries: 1, Throttled: 1, Backoff: 50 * ms, Reason: event.RetryReasonOverloadLasts,
			}, retries)
			const text = "no further retry after 2 attempts, 1 of them withheld, and 50ms of backoff: " + overloadLastsText
			assert.Equal(t, text, retries.Error())
			assert.ErrorContains(t, err, "("+text+")")
			assert.Equal(t, []string{
				"attempt 1: retry after 50ms, overloaded", "attempt 2: refused, overloadLasts",
				`failed: attempts 2, retries 1, backoff 50ms, "overloadLasts"`,
			}, r.lines())
			assert.Equal(t, 999.0, s.Policy.Bucket.Tokens(), "the retry that is refused takes no token")
			require.Equal(t, []string{refused}, sink.lines)
			assert.Equal(t, "overloadLasts", sink.keys[0]["reason"])
			assert.Equal(t, "(Throttled) withheld from a:27017, which is overloaded: it recently accepted 0 % of what this client sent, "+
				"so a retry would only take the place of another command", sink.keys[0]["failure"])
		})
	}
}

// TestRetriesAfterRefusedConnections: what is not retried because the overload lasts has the error of the connection.
func TestRetriesAfterRefusedConnections(t *testing.T) {
	s := lasting(t, 2*time.Second, []any{establishmentError{server: "a:27017", cause: io.EOF}})
	err := s.Execute(context.Background(), s.Read())
	assert.True(t, errors.Is(err, io.EOF), "got %v", err)
	assert.Len(t, s.Slept, 1)
}

// TestOneOverloadedServer: a retry that is withheld from one server goes to another.
func TestOneOverloadedServer(t *testing.T) {
	s := lasting(t, 2*time.Second, []any{scripted.Overloaded(), scripted.OK()}, "b")
	s.Policy.Retarget = false
	require.NoError(t, s.Execute(context.Background(), s.Read()))
	require.Len(t, s.Sent, 2)
}

// TestCommandAlone: two commands of a client that knows nothing have all retries, and so have both of its sides.
func TestCommandAlone(t *testing.T) {
	for name, scope := range map[string]throttle.Scope{"unset": throttle.Retries, "false": throttle.Nothing} {
		s := scripted.New(t)
		s.Policy.Throttling = scope
		s.Rest = scripted.Rejected()
		require.Error(t, s.Execute(context.Background(), s.Read()), name)
		assert.Len(t, s.Sent, 6, name)
		require.Error(t, s.Execute(context.Background(), s.Write()), name)
		assert.Len(t, s.Sent, 12, name)
		require.Error(t, s.Execute(context.Background(), s.Read()), name)
		assert.Len(t, s.Sent, 18, name)
		require.Error(t, s.Execute(context.Background(), s.Read()), name)
		want := map[throttle.Scope]int{throttle.Retries: 19, throttle.Nothing: 24} // there is no token left
		assert.Len(t, s.Sent, want[scope], name)
	}
}
