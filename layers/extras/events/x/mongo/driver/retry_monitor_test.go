package driver_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/logger"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// recorder records the events of a retry monitor, and their contexts.
type recorder struct {
	decided  []*event.RetryDecidedEvent
	finished []*event.RetryFinishedEvent
	contexts []context.Context
}

func record(s *scripted.Script) *recorder {
	r := new(recorder)
	s.Policy.Monitor = &event.RetryMonitor{
		Decided: func(ctx context.Context, e *event.RetryDecidedEvent) {
			r.decided, r.contexts = append(r.decided, e), append(r.contexts, ctx)
		},
		Finished: func(ctx context.Context, e *event.RetryFinishedEvent) {
			r.finished, r.contexts = append(r.finished, e), append(r.contexts, ctx)
		},
	}
	return r
}

// lines says of each event what the tests compare.
func (r *recorder) lines() []string {
	var lines []string
	for _, e := range r.decided {
		verdict := "refused"
		if e.WillRetry {
			verdict = fmt.Sprintf("retry after %v", e.Backoff)
		}
		lines = append(lines, fmt.Sprintf("attempt %d: %s, %s", e.Attempt, verdict, e.Reason))
	}
	for _, e := range r.finished {
		outcome := "succeeded"
		if e.Failure != nil {
			outcome = "failed"
		}
		lines = append(lines, fmt.Sprintf("%s: attempts %d, retries %d, backoff %v, %q", outcome, e.Attempts, e.Retries, e.Backoff, e.Reason))
	}
	return lines
}

func TestRetryMonitorReasons(t *testing.T) {
	read, write, command := (*scripted.Script).Read, (*scripted.Script).Write, (*scripted.Script).Command
	withoutRetry := func(op func(*scripted.Script) driver.Operation) func(*scripted.Script) driver.Operation {
		return func(s *scripted.Script) driver.Operation {
			none := driver.RetryNone
			op := op(s)
			op.RetryMode = &none
			return op
		}
	}
	output := func(s *scripted.Script) driver.Operation {
		op := withoutRetry(read)(s)
		op.IsOutputAggregate = true
		return op
	}
	unacknowledged := func(s *scripted.Script) driver.Operation {
		op := s.Write()
		op.Client, op.WriteConcern = nil, writeconcern.Unacknowledged()
		return op
	}
	noConnection, closed := scripted.NoConnection{Err: scripted.PoolCleared{}}, establishmentError{server: "a:27017"}
	rejected, shuttingDown, ok := scripted.Overloaded(), scripted.ShuttingDown(), scripted.OK()
	retriesOff := func(s *scripted.Script) { s.Policy.RetryReads, s.Policy.RetryWrites = false, false }
	const first, plain = "attempt 1: retry after 50ms, overloaded", "attempt 1: retry after 0s, retryable"
	const success = `succeeded: attempts 2, retries 1, backoff 50ms, ""`
	limit := []string{
		first, "attempt 2: retry after 100ms, overloaded", "attempt 3: retry after 200ms, overloaded",
		"attempt 4: retry after 400ms, overloaded", "attempt 5: retry after 800ms, overloaded", "attempt 6: refused, limit",
	}
	notRetryable, optionOff := []string{"attempt 1: refused, notRetryable"}, []string{"attempt 1: refused, optionOff"}

	for _, tt := range []struct {
		name    string
		op      func(*scripted.Script) driver.Operation
		set     func(*scripted.Script)
		replies []any
		want    []string
	}{
		{"nothing failed", read, nil, []any{ok}, nil},
		{"a plain retryable write", write, nil, []any{shuttingDown, shuttingDown}, []string{
			plain, "attempt 2: refused, limit", `failed: attempts 2, retries 1, backoff 0s, "limit"`,
		}},
		{"not retryable", write, nil, []any{scripted.Failure(1)}, notRetryable},
		{"not retryable any more", write, nil, []any{rejected, scripted.Failure(1)}, []string{
			first, "attempt 2: refused, notRetryable", `failed: attempts 2, retries 1, backoff 50ms, "notRetryable"`,
		}},
		{"label missing", read, nil, []any{scripted.Failure(473, driver.ErrSystemOverloadedError)},
			[]string{"attempt 1: refused, labelMissing"}},
		{"option off", command, retriesOff, []any{rejected}, optionOff},
		{"option off for a plain retryable read", withoutRetry(read), retriesOff, []any{shuttingDown}, optionOff},
		{"option off for a plain retryable write", withoutRetry(write), retriesOff, []any{shuttingDown}, optionOff},
		{"option on, but no retryable write", withoutRetry(write), nil, []any{shuttingDown}, notRetryable},
		{"option off, no connection for a read", withoutRetry(read), retriesOff, []any{noConnection}, optionOff},
		{"option off, no connection for a write", withoutRetry(write), retriesOff, []any{noConnection}, optionOff},
		{"option off, no connection for a command that is never retried", command, retriesOff, []any{noConnection}, notRetryable},
		{"option off, no connection for an aggregate that writes", output, retriesOff, []any{noConnection}, notRetryable},
		{"option off for an aggregate that writes", output, retriesOff, []any{shuttingDown}, notRetryable},
		{"limit", write, nil, scripted.Repeat(6, scripted.Rejected()),
			append(limit[:6:6], `failed: attempts 6, retries 5, backoff 1.55s, "limit"`)},
		{"batches", batchedWrite, nil, []any{rejected, ok, rejected, rejected, ok}, []string{
			first, first, "attempt 2: retry after 100ms, overloaded", `succeeded: attempts 5, retries 3, backoff 200ms, ""`,
		}},
		// The server executes the last command: the refusal is not why the operation ends.
		{"a batch that was executed but for its write concern", batchedWrite, nil, then(scripted.Repeat(6, overloadedWriteConcern), ok),
			append(limit[:6:6], `failed: attempts 7, retries 5, backoff 1.55s, ""`)},
		{"bucket empty", write, func(s *scripted.Script) { s.Policy.Bucket = drained(t, 200) }, []any{rejected},
			[]string{"attempt 1: refused, bucketEmpty"}},
		{"context done during an attempt", read, nil, []any{rejected, context.DeadlineExceeded}, []string{
			first, "attempt 2: refused, contextDone", `failed: attempts 2, retries 1, backoff 50ms, "contextDone"`,
		}},
		{"write errors of a retry", write, nil, []any{rejected, writeError}, []string{
			first, `failed: attempts 2, retries 1, backoff 50ms, ""`,
		}},
		{"write errors at once", write, nil, []any{writeError}, nil},
		{"a connection that the server closes", command, nil, []any{closed, ok}, []string{first, success}},
		{"an unacknowledged write that gets its connection late", unacknowledged, nil, []any{closed}, []string{first, success}},
		{"an exempt command", command, func(s *scripted.Script) { s.Policy = nil }, []any{rejected}, nil},
	} {
		s := scripted.New(t, tt.replies...)
		r := record(s)
		if tt.set != nil {
			tt.set(s)
		}
		_ = s.Execute(context.Background(), tt.op(s))
		assert.Equal(t, tt.want, r.lines(), tt.name)
		for i := range r.decided {
			assert.Equal(t, r.decided[0].OperationID, r.decided[i].OperationID, "%s: of all batches", tt.name)
		}
	}
}

func TestRetryMonitorEvents(t *testing.T) {
	// The first error takes a limit of 5 and a token, the second returns it.
	s, timeout := scripted.New(t, scripted.Overloaded(), scripted.ShuttingDown(), scripted.OK()), time.Hour
	s.Servers = append(s.Servers, scripted.Server("b", description.ServerKindRSSecondary))
	s.Policy.Bucket = retry.NewTokenBucket()
	r := record(s)
	op := s.Read()
	op.Timeout = &timeout
	var requests []int64
	op.CommandMonitor = &event.CommandMonitor{
		Started: func(_ context.Context, e *event.CommandStartedEvent) { requests = append(requests, e.RequestID) },
	}
	type key struct{}
	require.NoError(t, s.Execute(context.WithValue(context.Background(), key{}, "value"), op))

	require.Equal(t, []int{2, 1}, []int{len(r.decided), len(r.finished)})
	for _, ctx := range r.contexts {
		assert.Equal(t, "value", ctx.Value(key{}), "the operation's context, as in the events of the other monitors")
	}
	for i, server := range []address.Address{"a:27017", "b:27017"} {
		e := r.decided[i]
		assert.Equal(t, []any{"anything", "db", requests[0], requests[i], server, 999 + float64(i)},
			[]any{e.CommandName, e.DatabaseName, e.OperationID, e.RequestID, e.ServerAddress, *e.Tokens})
		assert.Equal(t, i == 0, e.Failure.(driver.Error).HasErrorLabel(driver.ErrSystemOverloadedError))
	}
	finished := r.finished[0]
	assert.Equal(t, []any{"anything", "db", requests[0], 1000.0},
		[]any{finished.CommandName, finished.DatabaseName, finished.OperationID, *finished.Tokens})
}

// allocations returns how many a read that succeeds makes. Pools make the number vary by a part of one, which the whole numbers of
// testing.AllocsPerRun would show as one.
func allocations(ctx context.Context, t *testing.T, s *scripted.Script) float64 {
	const runs = 500
	var before, after runtime.MemStats
	for i := 0; i <= runs; i++ {
		s.Replies, s.Sent, s.Selected = append(s.Replies[:0], scripted.OK()), s.Sent[:0], s.Selected[:0]
		require.NoError(t, s.Execute(ctx, s.Read()))
		if i == 0 {
			runtime.ReadMemStats(&before)
		}
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / runs
}

// TestRetryMonitorCostsNothing is about operations that are not retried, which are all of them in a healthy system.
func TestRetryMonitorCostsNothing(t *testing.T) {
	ctx, s := context.Background(), scripted.New(t)
	allocations(ctx, t, s)
	without := allocations(ctx, t, s)
	r := record(s)
	assert.InDelta(t, without, allocations(ctx, t, s), 0.5)
	assert.Empty(t, r.lines())
}

// TestRetryRedaction is about what a server says to sensitive commands (command-logging-and-monitoring.md, "Security").
func TestRetryRedaction(t *testing.T) {
	labels := []string{driver.ErrSystemOverloadedError, driver.ErrRetryableError}
	said := driver.Error{Code: 462, Name: "RateExceeded", Message: "scripted", Labels: labels, Raw: bsoncore.NewDocumentBuilder().Build()}
	handshake := scripted.BrokenHandshake{Cause: said}
	writeConcern := scripted.OK(scripted.WriteConcernError(91, labels...)) // the server rejects it
	for name, tt := range map[string]struct {
		command   string
		replies   []any
		reauth    error
		cancelled bool
		shown     bool
		code      int32
	}{
		"another command":           {command: "find", replies: scripted.Repeat(6, scripted.Overloaded()), shown: true, code: 462},
		"a sensitive command":       {command: "createUser", replies: scripted.Repeat(6, scripted.Overloaded()), code: 462},
		"one that takes no retries": {command: "saslStart", replies: []any{scripted.Failure(462, driver.ErrSystemOverloadedError)}, code: 462},
		"its write concern":         {command: "updateUser", replies: scripted.Repeat(6, writeConcern), code: 91},
		"a hello":                   {command: "hello", replies: scripted.Repeat(6, scripted.Overloaded()), code: 462},
		"in the handshake":          {command: "find", replies: scripted.Repeat(6, handshake), code: 462},
		"in the handshake, and another error": {command: "find", replies: []any{handshake, scripted.ShuttingDown(), scripted.OK()},
			shown: true, code: 462},
		"in a reauthentication": {command: "find", replies: scripted.Repeat(6, scripted.Failure(391)), reauth: said, code: 462},
		"without a connection":  {command: "updateUser", replies: scripted.Repeat(2, scripted.NoConnection{Err: scripted.PoolCleared{}})},
		"when time is up":       {command: "createUser", replies: []any{scripted.Overloaded()}, cancelled: true, code: 462},
	} {
		ctx, cancel := context.WithCancel(context.Background())
		s := scripted.New(t, tt.replies...)
		if tt.cancelled {
			s.OnSleep = cancel
		}
		sink := logTo(t, s, logger.LevelDebug)
		r := record(s)
		op := s.Read()
		op.Name, op.CommandFn = tt.command, scripted.Named(tt.command)
		op.Authenticator = &reauthentications{errs: []error{tt.reauth}}
		_ = s.Execute(ctx, op)
		cancel()

		require.NotEmpty(t, r.decided, name)
		var told []string
		for _, e := range r.decided {
			told = append(told, fmt.Sprintf("%+v", e.Failure))
		}
		for _, e := range r.finished {
			var attempts *event.RetryError
			assert.True(t, tt.command != "createUser" || errors.As(e.Failure, &attempts), "%s: it does not tell its attempts", name)
			told = append(told, fmt.Sprintf("%+v", e.Failure))
		}
		for _, keys := range sink.Keys {
			told = append(told, fmt.Sprint(keys["failure"]))
		}
		assert.Equal(t, tt.shown, strings.Contains(strings.Join(told, "\n"), "scripted"), "%s: %v", name, told)
		if first, ok := r.decided[0].Failure.(driver.Error); ok {
			assert.Equal(t, tt.code, first.Code, name)
			assert.True(t, first.HasErrorLabel(driver.ErrSystemOverloadedError), name)
			named := name != "in the handshake" || first.Name == said.Name
			assert.True(t, tt.shown || named && first.Message == "REDACTED", "%s: %+v", name, first)
		}
	}
}

func TestRetryErrorInterruptedBackoff(t *testing.T) {
	for cause, reason := range map[error]event.RetryReason{context.Canceled: "contextDone", backpressure.ErrDisconnected: "disconnected"} {
		ctx, s := scripted.NewContext(), scripted.New(t, scripted.Rejected())
		s.Policy.Clock = &manualClock{Clock: s, step: 7 * ms}
		s.OnSleep = func() { ctx.End(cause) }
		err := s.Execute(ctx, s.Write())
		want := &event.RetryError{Attempts: 1, Backoff: 7 * ms, Reason: reason}
		assert.Equal(t, want, scripted.As[*event.RetryError](t, err))
		assert.True(t, errors.Is(err, cause))
	}
}

// TestRetryErrorMessage is about attempts after which the command was executed. ExampleRetryError shows the text of the others.
func TestRetryErrorMessage(t *testing.T) {
	assert.EqualError(t, &event.RetryError{Attempts: 3, Backoff: 150*ms + 400*time.Microsecond},
		"no further retry after 3 attempts and 150ms of backoff: executed")
}
