package driver_test

import (
	"context"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
)

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
