package driver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// retryableWriteConcern is the reply of a server that has executed a write and shuts down before it is replicated.
var retryableWriteConcern = scripted.OK(
	scripted.WriteConcernError(91), bson.E{Key: "errorLabels", Value: bson.A{driver.RetryableWriteError}},
)

// TestExecuteNoTimeForRetry is about a context that ends between an attempt and the next: the error is that of the attempt,
// wherever the time is up, and wraps the context's.
func TestExecuteNoTimeForRetry(t *testing.T) {
	selection := func(cause error) func(*scripted.Context) (error, error) {
		return func(ctx *scripted.Context) (error, error) {
			ctx.End(cause)
			return cause, fmt.Errorf("server selection error: %w", cause)
		}
	}
	// Each ends the context in the course of the retry.
	ends := map[string]func(*scripted.Context) (cause, selection error){
		"selection, deadline":  selection(context.DeadlineExceeded),
		"selection, cancelled": selection(context.Canceled),
		"building the command": func(ctx *scripted.Context) (error, error) {
			ctx.Until = time.Now().Add(-time.Hour)
			return driver.ErrDeadlineWouldBeExceeded, nil
		},
		"before it is sent": func(ctx *scripted.Context) (error, error) {
			ctx.End(context.DeadlineExceeded)
			return context.DeadlineExceeded, nil
		},
	}
	attempts := map[string]struct {
		reply any
		check func(*testing.T, error)
	}{
		"overload":      {reply: scripted.Overloaded(), check: hasCode(462)},
		"shutdown":      {reply: scripted.ShuttingDown(), check: hasCode(91)},
		"write concern": {reply: retryableWriteConcern, check: hasWriteConcernError},
		"network error": {reply: io.ErrUnexpectedEOF, check: func(t *testing.T, err error) {
			assert.True(t, scripted.As[driver.Error](t, err).NetworkError(), "the server may have executed the command: %v", err)
			assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
		}},
		"pool cleared": {reply: scripted.NoConnection{Err: scripted.PoolCleared{}}, check: func(t *testing.T, err error) {
			assert.ErrorContains(t, err, scripted.As[scripted.PoolCleared](t, err).Error()+": no time for a retry: ")
		}},
		"closed": {reply: establishmentError{"a:27017", driver.Error{Labels: []string{driver.NetworkError}}}, check: hasCode(0)},
	}
	monitor := &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) { assert.NotEmpty(t, e.Command) }}
	for end, endContext := range ends {
		for attempt, tt := range attempts {
			t.Run(attempt+"/"+end, func(t *testing.T) {
				ctx := scripted.NewContext()
				s := scripted.New(t, tt.reply)
				var cause error
				s.OnSelect = func() (err error) {
					if len(s.Replies) == 0 {
						cause, err = endContext(ctx)
					}
					return err
				}
				op := s.Write()
				op.CommandMonitor = monitor
				err := s.Execute(ctx, op)
				require.NotNil(t, cause, "there was no retry")
				assert.ErrorIs(t, err, cause)
				assert.ErrorContains(t, err, "no time for a retry: ")
				tt.check(t, err)
			})
		}
	}
}

// TestExecuteSelectionFails: the error of a selection that fails before the context ends is not the operation's.
func TestExecuteSelectionFails(t *testing.T) {
	s := scripted.New(t, scripted.ShuttingDown())
	s.OnSelect = func() error {
		if len(s.Sent) == 1 {
			return fmt.Errorf("server selection error: %w", context.DeadlineExceeded)
		}
		return nil
	}
	err := s.Execute(scripted.NewContext(), s.Write())
	hasCode(91)(t, err)
	assert.False(t, errors.Is(err, context.DeadlineExceeded), "%v is a timeout", err)
}

// TestExecuteFirstSelectionFails is about the first attempt: the selection's error is the operation's (retryable-reads.md, "Executing
// Retryable Read Commands").
func TestExecuteFirstSelectionFails(t *testing.T) {
	s, none := scripted.New(t), errors.New("no server")
	s.OnSelect = func() error { return none }
	for _, op := range []driver.Operation{s.Read(), s.Write()} {
		assert.Equal(t, none, s.Execute(context.Background(), op))
	}
	assert.Empty(t, s.Sent)
}

func hasWriteConcernError(t *testing.T, err error) {
	t.Helper()
	assert.Equal(t, int64(91), scripted.As[driver.WriteCommandError](t, err).WriteConcernError.Code)
}

// TestExecuteResultOfTheExecuted is about a write whose retry failed: its result is that of the attempt that the server has executed.
func TestExecuteResultOfTheExecuted(t *testing.T) {
	executed := append(append(bson.D{}, retryableWriteConcern...), bson.E{Key: "n", Value: 7})
	s := scripted.New(t, then([]any{executed}, scripted.Repeat(5, scripted.Rejected())...)...)
	op := s.Write()
	var results []bsoncore.Document
	op.ProcessResponseFn = func(_ context.Context, reply bsoncore.Document, _ driver.ResponseInfo) error {
		results = append(results, reply)
		return nil
	}
	hasWriteConcernError(t, s.Execute(context.Background(), op))
	require.Len(t, results, 1)
	assert.Equal(t, int32(7), results[0].Lookup("n").Int32())
}

// TestExecuteTellsNoSecrets is about the monitor of commands that authenticate (command-logging-and-monitoring.md, "Security"): it gets
// neither the command nor the reply.
func TestExecuteTellsNoSecrets(t *testing.T) {
	for name, secret := range map[string]bool{"saslStart": true, "createUser": true, "find": false} {
		s := scripted.New(t, scripted.OK())
		op := s.Command()
		op.CommandFn = scripted.Named(name)
		var command, reply bson.Raw
		op.CommandMonitor = &event.CommandMonitor{
			Started:   func(_ context.Context, e *event.CommandStartedEvent) { command = e.Command },
			Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) { reply = e.Reply },
		}
		require.NoError(t, s.Execute(context.Background(), op))
		assert.Equal(t, secret, len(command) == 0, "%s: %v", name, command)
		assert.Equal(t, secret, len(reply) == 0, "%s: %v", name, reply)
	}
}
