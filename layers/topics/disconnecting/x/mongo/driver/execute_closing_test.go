package driver_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
)

// TestExecuteWhileTheClientEnds is about a client that is disconnected while an operation runs: a retry is sent, but not after the end.
func TestExecuteWhileTheClientEnds(t *testing.T) {
	for i, failure := range []any{io.EOF, io.EOF, scripted.Overloaded(), scripted.Overloaded()} { // the latter has a backoff
		s, over := scripted.New(t, failure), i%2 > 0
		s.Rest = scripted.OK()
		op := s.Read()
		op.CommandMonitor = &event.CommandMonitor{Failed: func(context.Context, *event.CommandFailedEvent) {
			s.Policy.Closing().Begin()
			if over {
				s.Policy.Closing().End()
			}
		}}
		err := s.Execute(context.Background(), op)
		assert.Equal(t, over, errors.Is(err, backpressure.ErrDisconnected), "got %v", err)
		assert.Equal(t, over, len(s.Sent) == 1)
	}
}

// TestOperationsLeaveTheirClient is about operations that ended before a client is disconnected, which waits for none of them.
func TestOperationsLeaveTheirClient(t *testing.T) {
	for _, reply := range []any{scripted.OK(), scripted.Failure(13), io.EOF, scripted.NoServer{Err: io.EOF}} {
		s := scripted.New(t)
		s.Policy.RetryReads, s.Rest = false, reply
		_ = s.Execute(context.Background(), s.Read())
		long, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		s.Policy.Closing().Begin()
		s.Policy.Closing().Drain(long)
		assert.NoError(t, long.Err(), "after %v", reply)
		cancel()
	}
}

// TestExecuteEndsSomethingOfAClosingClient is about a command that is woken while its client is being disconnected: if it ends
// something, it waits again, but not for ever; any other is given up.
func TestExecuteEndsSomethingOfAClosingClient(t *testing.T) {
	woken := scripted.NoConnection{Err: backpressure.ErrDisconnected}
	for name, replies := range map[string][]any{"kept": {woken, woken, scripted.OK()}, "": {woken, woken, woken}} {
		s := scripted.New(t, replies...)
		s.Policy.Closing().Begin()
		op := s.Command()
		op.Name = driverutil.EndSessionsOp
		err := s.Execute(context.Background(), op)
		assert.Equal(t, name == "", errors.Is(err, backpressure.ErrDisconnected), "%q: %v", name, err)
	}
	s := scripted.New(t, woken)
	s.OnSelect = func() error { s.Policy.Closing().Begin(); return nil }
	assert.True(t, errors.Is(s.Execute(context.Background(), s.Command()), backpressure.ErrDisconnected))
}
