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

func TestExecuteCommitWithoutMajority(t *testing.T) {
	reply := func(code int32, labels ...string) bson.D {
		d := bson.D{{Key: "ok", Value: 0}, {Key: "code", Value: int32(251)}, {Key: "codeName", Value: "NoSuchTransaction"}}
		if code != 0 {
			d = append(d, bson.E{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: code}}})
		}
		return append(d, bson.E{Key: "errorLabels", Value: labels})
	}
	for _, tc := range []struct {
		name  string
		reply bson.D
		want  bool
	}{
		{name: "write concern timeout", reply: reply(64), want: true},
		{name: "no write concern error", reply: reply(0), want: false},
		{name: "unknown write concern", reply: reply(79), want: false},
		{name: "unsatisfiable write concern", reply: reply(100), want: false},
		{name: "transient", reply: reply(64, driver.TransientTransactionError), want: false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, committing := range []bool{true, false} {
				s := scripted.New(t, tc.reply)
				op := s.Write()
				op.Client = scripted.Session(t)
				require.NoError(t, op.Client.StartTransaction(nil))
				require.NoError(t, op.Client.ApplyCommand(s.Servers[0]))
				op.Client.Committing, op.Client.Aborting = committing, !committing
				op.CommandFn = scripted.Named("commitTransaction")

				var serverErr driver.Error
				require.True(t, errors.As(s.Execute(context.Background(), op), &serverErr), "want a server error")
				assert.Equal(t, int32(251), serverErr.Code)
				assert.Equal(t, tc.want && committing, serverErr.HasErrorLabel(driver.UnknownTransactionCommitResult))
			}
		})
	}
}

// TestCommitFailsWithLabelsOfTheReply is about a commit whose write concern failed: the error has what the reply says.
func TestCommitFailsWithLabelsOfTheReply(t *testing.T) {
	for code, unknown := range map[int32][]string{64: {driver.UnknownTransactionCommitResult}, 100: nil} {
		s := scripted.New(t, scripted.OK(
			bson.E{Key: "errorLabels", Value: []string{"Own"}},
			bson.E{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: code}, {Key: "codeName", Value: "name"}, {Key: "errmsg", Value: "text"}}},
		))
		op := s.Write()
		op.Client = scripted.Session(t)
		require.NoError(t, op.Client.StartTransaction(nil))
		op.Client.Committing = true
		op.CommandFn = scripted.Named("commitTransaction")

		var failed driver.Error
		require.True(t, errors.As(s.Execute(context.Background(), op), &failed), "want a server error")
		assert.Equal(t, append([]string{"Own"}, unknown...), failed.Labels)
		assert.Equal(t, driver.Error{Code: code, Name: "name", Message: "text"}, driver.Error{Code: failed.Code, Name: failed.Name, Message: failed.Message})
		assert.False(t, failed.Raw == nil)
	}
}
