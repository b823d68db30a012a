package driver_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

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

// TestExecuteTransactionLosesItsPool is about a command of a transaction that finds its server's pool cleared: only the first is sent
// again. What the others had done is lost, which the label says.
func TestExecuteTransactionLosesItsPool(t *testing.T) {
	cleared := scripted.NoConnection{Err: scripted.PoolCleared{}}
	s := scripted.New(t, cleared, scripted.OK(), cleared)
	op := s.Transaction()
	op.RetryMode = scripted.RetryOncePerCommand()
	require.NoError(t, op.Execute(context.Background()), "the first command")

	err := s.Execute(context.Background(), op)
	var labelled driver.Error
	require.True(t, errors.As(err, &labelled), "got %T (%v)", err, err)
	assert.True(t, labelled.HasErrorLabel(driver.TransientTransactionError), "%v", err)
	assert.True(t, errors.Is(err, scripted.PoolCleared{}), "%v", err)
}
