package driver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

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
				assert.Empty(t, s.Slept)
			})
		}
	}
}

// TestExecuteWithoutConnectionTwice is about what a command returns that gets no connection for its retry either.
func TestExecuteWithoutConnectionTwice(t *testing.T) {
	for _, err := range []error{scripted.PoolCleared{}, scripted.PoolPaused(), scripted.ClosedHandshake()} {
		none := scripted.NoConnection{Err: err}

		s := scripted.New(t, none, none)
		assert.Equal(t, err.Error(), s.Execute(context.Background(), s.Write()).Error())

		s = scripted.New(t, scripted.ShuttingDown(), none)
		var serverErr driver.Error
		require.True(t, errors.As(s.Execute(context.Background(), s.Read()), &serverErr))
		assert.Equal(t, int32(91), serverErr.Code, "the caller has to know of the attempt")
	}
}

// TestExecuteLabelsRetryableWrites is about the label RetryableWriteError, which the driver adds where the server does not: to network
// errors, and to retryable errors of servers before 4.4 (retryable-writes.md, "RetryableWriteError Labels").
func TestExecuteLabelsRetryableWrites(t *testing.T) {
	const before44, since44 = 8, 9
	shutdown := scripted.OK(
		bson.E{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: 91}, {Key: "errmsg", Value: "scripted"}}},
	)
	insert, read := (*scripted.Script).Write, (*scripted.Script).Read
	off := func(s *scripted.Script) driver.Operation {
		op := s.Write()
		op.RetryMode = nil
		return op
	}
	transaction := func(s *scripted.Script) driver.Operation {
		op := s.Transaction()
		op.RetryMode = scripted.RetryOncePerCommand()
		return op
	}
	commit := func(s *scripted.Script) driver.Operation {
		op := transaction(s)
		require.NoError(t, op.Client.ApplyCommand(s.Servers[0]))
		op.Client.Committing = true
		return op
	}
	tests := []struct {
		name  string
		op    func(*scripted.Script) driver.Operation
		wire  int32
		reply any
		want  bool
	}{
		{"network error", insert, since44, io.ErrUnexpectedEOF, true},
		{"network error, retryWrites=false", off, since44, io.ErrUnexpectedEOF, false},
		{"network error, in a transaction", transaction, since44, io.ErrUnexpectedEOF, false},
		{"network error, commit", commit, since44, io.ErrUnexpectedEOF, true},
		{"network error, read", read, since44, io.ErrUnexpectedEOF, false},
		{"shutdown, before 4.4", insert, before44, scripted.Failure(91), true},
		{"shutdown, since 4.4", insert, since44, scripted.Failure(91), false},
		{"shutdown, before 4.4, in a transaction", transaction, before44, scripted.Failure(91), false},
		{"write concern error of a shutdown, before 4.4", insert, before44, shutdown, true},
		{"write concern error of a shutdown, since 4.4", insert, since44, shutdown, false},
		{"not retryable, before 4.4", insert, before44, scripted.Failure(11000), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := scripted.New(t)
			s.Rest = tt.reply
			s.Servers[0].WireVersion.Max = tt.wire
			err := s.Execute(context.Background(), tt.op(s))
			var labeled interface{ HasErrorLabel(string) bool }
			require.True(t, errors.As(err, &labeled), "got %T (%v)", err, err)
			assert.Equal(t, tt.want, labeled.HasErrorLabel(driver.RetryableWriteError), "got %v", err)
		})
	}
}
