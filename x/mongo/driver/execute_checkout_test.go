package driver_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/overloadtest"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// TestExecuteWithoutConnection is about commands that get no connection: which of them are retried by the Retryable Reads and
// Retryable Writes specifications.
func TestExecuteWithoutConnection(t *testing.T) {
	type retried struct{ read, write, command, transaction bool }
	both, never := retried{read: true, write: true, transaction: true}, retried{}
	handshake := func(code int32, labels ...string) error {
		return overloadtest.BrokenHandshake{Cause: driver.Error{Code: code, Labels: labels}}
	}

	tests := []struct {
		name string
		err  error
		want retried
	}{
		{"pool cleared", overloadtest.PoolCleared{}, both},
		{"pool paused", overloadtest.PoolPaused(), both},
		{"pool cleared, wrapped", fmt.Errorf("queue: %w", overloadtest.PoolCleared{}), both},
		{"connection closed in the handshake", overloadtest.ClosedHandshake(), both},
		{"the same, wrapped", fmt.Errorf("wrapped: %w", overloadtest.ClosedHandshake()), both},
		{"handshake: ShutdownInProgress with the label for writes", handshake(91, driver.RetryableWriteError), both},
		{"handshake: ShutdownInProgress", handshake(91), retried{read: true}},
		{"handshake: SocketException", handshake(9001), retried{read: true}},
		{"handshake: AuthenticationFailed", handshake(18), never},
		{"no connection for another reason", errors.New("closed"), never},
		{"a retryable error that is none of a connection", driver.Error{Code: 91, Labels: []string{driver.RetryableWriteError}}, never},
	}
	for _, tt := range tests {
		tt := tt
		ops := map[string]struct {
			op   func(*overloadtest.Script) driver.Operation
			want bool
		}{
			"read":    {(*overloadtest.Script).Read, tt.want.read},
			"write":   {(*overloadtest.Script).Write, tt.want.write},
			"command": {(*overloadtest.Script).Command, tt.want.command},
			"first of a transaction": {func(s *overloadtest.Script) driver.Operation {
				op := s.Transaction()
				op.RetryMode = overloadtest.RetryOncePerCommand()
				return op
			}, tt.want.transaction},
			"without retries": {func(s *overloadtest.Script) driver.Operation {
				op := s.Write()
				op.RetryMode = nil
				return op
			}, false},
		}
		for name, op := range ops {
			op := op
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				s := overloadtest.New(t, overloadtest.NoConnection{Err: tt.err})
				if op.want {
					s.Replies = append(s.Replies, overloadtest.OK())
				}
				err := s.Execute(context.Background(), op.op(s))
				assert.Equal(t, !op.want, err != nil, "got %v", err)
				assert.Empty(t, s.Slept)
			})
		}
	}
}

// TestExecuteWithoutConnectionTwice is about what a command returns that gets no connection for its retry either.
func TestExecuteWithoutConnectionTwice(t *testing.T) {
	for _, err := range []error{overloadtest.PoolCleared{}, overloadtest.PoolPaused(), overloadtest.ClosedHandshake()} {
		none := overloadtest.NoConnection{Err: err}

		s := overloadtest.New(t, none, none)
		assert.Equal(t, err.Error(), s.Execute(context.Background(), s.Write()).Error())

		s = overloadtest.New(t, overloadtest.ShuttingDown(), none)
		var serverErr driver.Error
		require.True(t, errors.As(s.Execute(context.Background(), s.Read()), &serverErr))
		assert.Equal(t, int32(91), serverErr.Code, "the caller has to know of the attempt")
	}
}
