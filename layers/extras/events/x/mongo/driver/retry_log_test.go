package driver_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/logger"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// logTo makes the script's client log lines of the component "command" up to the level.
func logTo(t *testing.T, s *scripted.Script, level logger.Level) *scripted.Log {
	sink := new(scripted.Log)
	log, err := logger.New(sink, 0, map[logger.Component]logger.Level{logger.ComponentAll: logger.LevelOff, logger.ComponentCommand: level})
	require.NoError(t, err)
	s.Policy.Logger = log
	return sink
}

// The lines of retries.
const scheduled, refused, ended = "1 Command retry scheduled", "0 Command retry refused", "1 Command retries ended"

func TestRetryLog(t *testing.T) {
	read, write := (*scripted.Script).Read, (*scripted.Script).Write
	debug, info, off := logger.LevelDebug, logger.LevelInfo, logger.LevelOff
	overloaded, shuttingDown, ok := scripted.Overloaded(), scripted.ShuttingDown(), scripted.OK()
	closing := scripted.NoServer{Err: backpressure.ErrDisconnected}
	for _, tt := range []struct {
		name    string
		op      func(*scripted.Script) driver.Operation
		level   logger.Level
		replies []any
		want    []string
	}{
		{"a retry that succeeds", read, debug, []any{overloaded, ok}, []string{scheduled, ended}},
		{"a plain retry", read, debug, []any{shuttingDown, shuttingDown}, []string{scheduled, refused, ended}},
		{"an error after a retry", write, debug, []any{overloaded, scripted.Failure(1)}, []string{scheduled, refused, ended}},
		{"a refused retry", write, debug, []any{scripted.Failure(473, driver.ErrSystemOverloadedError)}, []string{refused}},
		{"an error that has nothing to do with retries", write, debug, []any{scripted.Failure(1)}, nil},
		{"a first attempt that the end of its client ends", write, debug, []any{closing}, []string{refused}},
		{"success", write, debug, []any{ok}, nil},
		{"on level info only refusals", write, info, []any{shuttingDown, shuttingDown}, []string{refused}},
		{"off", write, off, []any{shuttingDown, shuttingDown}, nil},
	} {
		s := scripted.New(t, tt.replies...)
		sink := logTo(t, s, tt.level)
		_ = s.Execute(context.Background(), tt.op(s))
		assert.Equal(t, tt.want, sink.Lines, tt.name)
	}
}

func TestRetryLogKeys(t *testing.T) {
	s := scripted.New(t, then([]any{scripted.Overloaded()}, scripted.Repeat(5, scripted.ShuttingDown())...)...)
	s.Policy.Bucket = retry.NewTokenBucket()
	sink := logTo(t, s, logger.LevelDebug)
	r := record(s)
	_ = s.Execute(context.Background(), s.Write())

	require.Len(t, sink.Keys, 7)
	attempt := func(n int, message, reason string, tokens float64) map[string]any {
		e := r.decided[n-1]
		return map[string]any{
			"commandName": "anything", "databaseName": "db", "message": message,
			"operationId": r.decided[0].OperationID, "requestId": e.RequestID,
			"driverConnectionId": int64(n), "serverConnectionId": int64(100 + n), "serverHost": "a", "serverPort": int64(27017),
			"attempt": n, "reason": reason, "failure": e.Failure.Error(), "tokens": tokens,
		}
	}
	first := attempt(1, "Command retry scheduled", "overloaded", 999)
	first["backoffMS"] = int64(50)
	assert.Equal(t, first, sink.Keys[0])
	assert.Equal(t, attempt(6, "Command retry refused", "limit", 1000), sink.Keys[5])
	assert.Equal(t, map[string]any{
		"commandName": "anything", "databaseName": "db", "message": "Command retries ended",
		"operationId": r.decided[0].OperationID, "requestId": r.decided[5].RequestID,
		"attempts": 6, "backoffMS": int64(50), "reason": "limit", "tokens": 1000.0,
		"failure": r.decided[0].Failure.Error() + " (no further retry after 6 attempts and 50ms of backoff: limit)",
	}, sink.Keys[6])
}

// TestRetryLogKeysOfServers is about servers that there was no connection to, and one behind a load balancer, of which the connection knows
// the number.
func TestRetryLogKeysOfServers(t *testing.T) {
	id := bson.NewObjectID()
	for _, tt := range []struct {
		reply any
		want  []any
	}{
		{establishmentError{server: "a:27017"}, []any{"a", int64(27017), nil, nil}},
		{establishmentError{server: "[::1]:27017"}, []any{"::1", int64(27017), nil, nil}},
		{establishmentError{server: "/tmp/mongodb-27017.sock"}, []any{"/tmp/mongodb-27017.sock", nil, nil, nil}},
		{establishmentError{}, []any{nil, nil, nil, nil}}, // it is not known
		{scripted.Overloaded(), []any{"a", int64(27017), int64(1), id.Hex()}},
	} {
		s := scripted.New(t, tt.reply)
		s.Servers[0].ServiceID, s.Policy.RetryReads = &id, false
		sink := logTo(t, s, logger.LevelInfo)
		_ = s.Execute(context.Background(), s.Read())
		require.Len(t, sink.Keys, 1)
		keys := sink.Keys[0]
		assert.Equal(t, tt.want, []any{keys["serverHost"], keys["serverPort"], keys["driverConnectionId"], keys["serviceId"]})
	}
}

// manualClock is a clock that the test sets, and that goes on by a step whenever it is asked.
type manualClock struct {
	backpressure.Clock
	now  time.Time
	step time.Duration
}

func (c *manualClock) Now() time.Time {
	c.now = c.now.Add(c.step)
	return c.now
}

func TestRetryLogIsLimited(t *testing.T) {
	s := scripted.New(t)
	s.Policy.RetryReads = false
	clock := &manualClock{Clock: s, now: time.Unix(1000, 0)}
	s.Policy.Clock = clock
	sink := logTo(t, s, logger.LevelInfo)
	refuse := func(later time.Duration, n, lines int, why string) {
		clock.now = clock.now.Add(later)
		for i := 0; i < n; i++ {
			s.Replies = []any{scripted.Overloaded()}
			require.Error(t, s.Execute(context.Background(), s.Read()))
		}
		require.Len(t, sink.Lines, lines, why)
	}

	refuse(0, 25, 10, "ten lines in a second")
	refuse(999*ms, 1, 10, "the second is not over")
	refuse(1*ms, 2, 12, "it is")
	assert.Equal(t, 16, sink.Keys[10]["suppressed"], "the next line says how many were left out")
	assert.Nil(t, sink.Keys[11]["suppressed"], "and the one after it does not repeat it")
	refuse(0, 9, 20, "ten lines in a second, again")
	refuse(-time.Hour, 1, 21, "a clock that is set back does not silence the log")
	assert.Equal(t, 1, sink.Keys[20]["suppressed"])
}

// TestExecuteTellsOfEachAttempt is about what events and log lines say of the command, the connection and the server.
func TestExecuteTellsOfEachAttempt(t *testing.T) {
	s := scripted.New(t, scripted.Overloaded(), scripted.OK())
	service := bson.NewObjectID()
	s.Servers[0].ServiceID = &service
	sink := logTo(t, s, logger.LevelDebug)
	op := s.Read()
	op.Logger = s.Policy.Logger
	s.Policy.Logger = nil

	var events []string
	// TestExecuteEachCommandStartedEnds compares the other events with these.
	op.CommandMonitor = &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		assert.NotEmpty(t, e.RequestID)
		events = append(events, fmt.Sprint(e.CommandName, " ", e.DatabaseName, " ", e.ConnectionID, " ", *e.ServerConnectionID, " ",
			*e.ServiceID == service))
	}}
	require.NoError(t, s.Execute(context.Background(), op))
	assert.Equal(t, []string{"anything db a:27017 101 true", "anything db a:27017 102 true"}, events)

	var lines []string
	for _, keys := range sink.Keys {
		lines = append(lines, fmt.Sprint(keys[logger.KeyCommandName], " ", keys[logger.KeyDatabaseName], " ",
			keys[logger.KeyDriverConnectionID], " ", keys[logger.KeyServerConnectionID], " ",
			keys[logger.KeyServerHost], ":", keys[logger.KeyServerPort], " ", keys[logger.KeyServiceID] == service.Hex()))
	}
	first, second := "anything db 1 101 a:27017 true", "anything db 2 102 a:27017 true"
	assert.Equal(t, []string{first, first, second, second}, lines)
}
