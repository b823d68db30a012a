package driver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// establishmentError is a connection that an overloaded server closes before it is established.
type establishmentError struct {
	server address.Address
	cause  error
}

func (establishmentError) Error() string                    { return "closed" }
func (e establishmentError) Unwrap() error                  { return e.cause }
func (e establishmentError) ServerAddress() address.Address { return e.server }
func (establishmentError) HasErrorLabel(label string) bool {
	return label == driver.ErrSystemOverloadedError || label == driver.ErrRetryableError
}

// ownLimitError is a connection that the client itself could not open, such as ConnectionError.
type ownLimitError struct{ establishmentError }

func (ownLimitError) Is(target error) bool            { return target == backpressure.ErrOwnLimit }
func (ownLimitError) HasErrorLabel(label string) bool { return label == driver.NetworkError }

func (e ownLimitError) ForWrite() error { return e }

func outOfFiles() error {
	return ownLimitError{establishmentError{server: "a:27017", cause: errors.New("no files")}}
}

func TestExecuteOverloadDuringEstablishment(t *testing.T) {
	closed := establishmentError{server: "a:27017", cause: io.EOF}

	t.Run("is retried on another server", func(t *testing.T) {
		s := scripted.New(t, closed, scripted.OK())
		s.Servers = append(s.Servers, scripted.Server("b", description.ServerKindRSSecondary))
		require.NoError(t, s.Execute(context.Background(), s.Read()))
		assert.Equal(t, []time.Duration{50 * ms}, s.Slept)
		assert.Equal(t, []address.Address{"a:27017", "b:27017"}, s.Selected)
	})
	t.Run("is retried for commands of every kind", func(t *testing.T) {
		s := scripted.New(t, closed, closed, scripted.OK())
		require.NoError(t, s.Execute(context.Background(), s.Command()))
		assert.Equal(t, []time.Duration{50 * ms, 100 * ms}, s.Slept)
	})
	t.Run("is retried after connectTimeoutMS", func(t *testing.T) {
		s := scripted.New(t, establishmentError{server: "a:27017", cause: context.DeadlineExceeded}, scripted.OK())
		require.NoError(t, s.Execute(context.Background(), s.Write()))
	})
	t.Run("is returned in the end", func(t *testing.T) {
		s := scripted.New(t, scripted.Repeat(6, closed)...)
		err := s.Execute(context.Background(), s.Write())
		assert.Equal(t, error(closed), err)
		assert.Len(t, s.Slept, 5)
	})
	t.Run("is returned with its labels when the backoff is cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		s := scripted.New(t, closed)
		s.OnSleep = cancel
		err := s.Execute(ctx, s.Write())
		assert.True(t, errors.Is(err, context.Canceled), "%v is not context.Canceled", err)
		var serverErr driver.Error
		require.True(t, errors.As(err, &serverErr))
		assert.True(t, serverErr.HasErrorLabel(driver.ErrSystemOverloadedError))
	})
	t.Run("leaves the earlier error to be returned", func(t *testing.T) {
		for _, op := range anyKind {
			replies := []any{scripted.Overloaded()}
			s := scripted.New(t, then(replies, scripted.Repeat(5, closed)...)...)
			err := s.Execute(context.Background(), op(s))
			hasCode(462)(t, err)
		}
	})
}

// TestExecuteWithoutConnection is about commands that get no connection: which of them are retried by the Retryable Reads and
// Retryable Writes specifications.
func TestExecuteWithoutConnection(t *testing.T) {
	type retried struct{ read, write, command, transaction bool }
	both, never := retried{read: true, write: true, transaction: true}, retried{}
	handshake := func(code int32, labels ...string) error {
		return scripted.BrokenHandshake{Cause: driver.Error{Code: code, Labels: labels}}
	}

	tests := []struct {
		name string
		err  error
		want retried
	}{
		{name: "pool cleared", err: scripted.PoolCleared{}, want: both},
		{name: "pool paused", err: scripted.PoolPaused(), want: both},
		{name: "pool cleared, wrapped", err: fmt.Errorf("queue: %w", scripted.PoolCleared{}), want: both},
		{name: "connection closed in the handshake", err: scripted.ClosedHandshake(), want: both},
		{name: "the same, wrapped", err: fmt.Errorf("wrapped: %w", scripted.ClosedHandshake()), want: both},
		{name: "handshake: ShutdownInProgress with the label for writes", err: handshake(91, driver.RetryableWriteError),
			want: both},
		{name: "handshake: ShutdownInProgress", err: handshake(91), want: retried{read: true}},
		{name: "handshake: SocketException", err: handshake(9001), want: retried{read: true}},
		{name: "handshake: AuthenticationFailed", err: handshake(18), want: never},
		{name: "a limit of the client", err: outOfFiles(), want: both},
		{name: "no connection for another reason", err: errors.New("closed"), want: never},
		{name: "a retryable error that is none of a connection",
			err: driver.Error{Code: 91, Labels: []string{driver.RetryableWriteError}}, want: never},
	}
	for _, tt := range tests {
		tt := tt
		ops := map[string]struct {
			op   func(*scripted.Script) driver.Operation
			want bool
		}{
			"read":    {op: (*scripted.Script).Read, want: tt.want.read},
			"write":   {op: (*scripted.Script).Write, want: tt.want.write},
			"command": {op: (*scripted.Script).Command, want: tt.want.command},
			"first of a transaction": {op: func(s *scripted.Script) driver.Operation {
				op := s.Transaction()
				op.RetryMode = scripted.RetryOncePerCommand()
				return op
			}, want: tt.want.transaction},
			"without retries": {op: func(s *scripted.Script) driver.Operation {
				op := s.Write()
				op.RetryMode = nil
				return op
			}, want: false},
		}
		for name, op := range ops {
			op := op
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				s := scripted.New(t, scripted.NoConnection{Err: tt.err})
				if op.want {
					s.Replies = append(s.Replies, scripted.OK())
				}
				err := s.Execute(context.Background(), op.op(s))
				assert.Equal(t, !op.want, err != nil, "got %v", err)
				waits := op.want && errors.Is(tt.err, backpressure.ErrOwnLimit) // for a connection to become idle
				assert.Equal(t, waits, len(s.Slept) > 0)
			})
		}
	}
}
