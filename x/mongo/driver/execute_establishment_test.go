package driver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
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

func TestExecuteOverloadDuringEstablishment(t *testing.T) {
	closed := establishmentError{server: "a:27017", cause: io.EOF}
	timeout := establishmentError{server: "a:27017", cause: context.DeadlineExceeded}
	for _, tt := range []struct {
		name    string
		op      func(*scripted.Script) driver.Operation
		replies []any
		last    address.Address
		err     error
	}{
		{"is retried on another server", (*scripted.Script).Read, []any{closed, scripted.OK()}, "b:27017", nil},
		{"is retried for commands of every kind", (*scripted.Script).Command, []any{closed, closed, scripted.OK()}, "a:27017", nil},
		{"is retried after connectTimeoutMS", (*scripted.Script).Write, []any{timeout, scripted.OK()}, "a:27017", nil},
		{"is returned in the end", (*scripted.Script).Write, scripted.Repeat(6, closed), "a:27017", closed},
	} {
		s := scripted.New(t, tt.replies...)
		s.Servers = append(s.Servers, scripted.Server("b", description.ServerKindRSSecondary))
		assert.Equal(t, tt.err, s.Execute(context.Background(), tt.op(s)), tt.name)
		assert.Equal(t, backoffs[:len(tt.replies)-1], s.Slept, tt.name)
		assert.Equal(t, tt.last, s.Selected[len(s.Selected)-1], tt.name)
	}

	ctx, cancel := context.WithCancel(context.Background())
	s := scripted.New(t, closed)
	s.OnSleep = cancel
	err := s.Execute(ctx, s.Write())
	assert.ErrorIs(t, err, context.Canceled, "the backoff is cancelled")
	assert.True(t, scripted.As[driver.Error](t, err).HasErrorLabel(driver.ErrSystemOverloadedError))

	for _, op := range anyKind {
		s := scripted.New(t, then([]any{scripted.Overloaded()}, scripted.Repeat(5, closed)...)...)
		hasCode(462)(t, s.Execute(context.Background(), op(s))) // the earlier error is returned
	}
}

// TestExecuteWithoutConnection is about commands that get no connection, and are retryable reads or writes, or neither.
func TestExecuteWithoutConnection(t *testing.T) {
	type retried struct{ read, write, command, transaction bool }
	both, never := retried{read: true, write: true, transaction: true}, retried{}
	handshake := func(code int32, labels ...string) error {
		return scripted.BrokenHandshake{Cause: driver.Error{Code: code, Labels: labels}}
	}

	for _, tt := range []struct {
		name string
		err  error
		want retried
	}{
		{name: "pool cleared", err: scripted.PoolCleared{}, want: both},
		{name: "pool paused", err: scripted.PoolPaused(), want: both},
		{name: "pool cleared, wrapped", err: fmt.Errorf("queue: %w", scripted.PoolCleared{}), want: both},
		{name: "connection closed in the handshake", err: scripted.ClosedHandshake(), want: both},
		{name: "the same, wrapped", err: fmt.Errorf("wrapped: %w", scripted.ClosedHandshake()), want: both},
		{name: "handshake: ShutdownInProgress with the label for writes", err: handshake(91, driver.RetryableWriteError), want: both},
		{name: "handshake: ShutdownInProgress", err: handshake(91), want: retried{read: true}},
		{name: "handshake: SocketException", err: handshake(9001), want: retried{read: true}},
		{name: "handshake: AuthenticationFailed", err: handshake(18), want: never},
		{name: "a limit of the client", err: ownLimitError{establishmentError{server: "a:27017", cause: errors.New("files")}}, want: both},
		{name: "no connection for another reason", err: errors.New("closed"), want: never},
		{name: "a retryable error that is none of a connection",
			err: driver.Error{Code: 91, Labels: []string{driver.RetryableWriteError}}, want: never},
	} {
		for name, op := range map[string]struct {
			op   func(*scripted.Script) driver.Operation
			want bool
		}{
			"read":                   {(*scripted.Script).Read, tt.want.read},
			"write":                  {(*scripted.Script).Write, tt.want.write},
			"command":                {(*scripted.Script).Command, tt.want.command},
			"first of a transaction": {retriedTransaction, tt.want.transaction},
			"without retries":        {unretried, false},
		} {
			s := scripted.New(t, scripted.NoConnection{Err: tt.err})
			if op.want {
				s.Replies = append(s.Replies, scripted.OK())
			}
			err := s.Execute(context.Background(), op.op(s))
			assert.Equal(t, !op.want, err != nil, "%s, %s: got %v", tt.name, name, err)
			waits := op.want && errors.Is(tt.err, backpressure.ErrOwnLimit) // for a connection to become idle
			assert.Equal(t, waits, len(s.Slept) > 0, "%s, %s", tt.name, name)
		}
	}
}
