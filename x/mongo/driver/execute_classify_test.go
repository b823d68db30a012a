package driver_test

import (
	"context"
	"io"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// labeled is an error with labels.
type labeled interface {
	error
	HasErrorLabel(string) bool
}

// unretried returns a write that is not retried, as if retryWrites were false.
func unretried(s *scripted.Script) driver.Operation {
	op := s.Write()
	op.RetryMode = nil
	return op
}

// retriedTransaction returns the first command of a transaction, which is retried if it gets no connection.
func retriedTransaction(s *scripted.Script) driver.Operation {
	op := s.Transaction()
	op.RetryMode = scripted.RetryOncePerCommand()
	return op
}

// TestExecuteLabelsRetryableWrites is about the label RetryableWriteError, which the driver adds where the server does not: to network
// errors, and to retryable errors of servers before 4.4 (retryable-writes.md, "RetryableWriteError Labels").
func TestExecuteLabelsRetryableWrites(t *testing.T) {
	const before44, since44 = 8, 9
	shutdown := scripted.OK(scripted.WriteConcernError(91))
	insert, read, commit := (*scripted.Script).Write, (*scripted.Script).Read, (*scripted.Script).Commit
	for _, tt := range []struct {
		name  string
		op    func(*scripted.Script) driver.Operation
		wire  int32
		reply any
		want  bool
	}{
		{"network error", insert, since44, io.ErrUnexpectedEOF, true},
		{"network error, retryWrites=false", unretried, since44, io.ErrUnexpectedEOF, false},
		{"network error, in a transaction", retriedTransaction, since44, io.ErrUnexpectedEOF, false},
		{"network error, commit", commit, since44, io.ErrUnexpectedEOF, true},
		{"network error, read", read, since44, io.ErrUnexpectedEOF, false},
		{"shutdown, before 4.4", insert, before44, scripted.Failure(91), true},
		{"shutdown, since 4.4", insert, since44, scripted.Failure(91), false},
		{"shutdown, before 4.4, in a transaction", retriedTransaction, before44, scripted.Failure(91), false},
		{"write concern error of a shutdown, before 4.4", insert, before44, shutdown, true},
		{"write concern error of a shutdown, since 4.4", insert, since44, shutdown, false},
		{"write concern error of a shutdown, before 4.4, commit", commit, before44, shutdown, true},
		{"write concern error of a shutdown, since 4.4, commit", commit, since44, shutdown, false},
		{"write concern error of a timeout, before 4.4, commit", commit, before44, scripted.OK(scripted.WriteConcernError(64)), false},
		{"not retryable, before 4.4", insert, before44, scripted.Failure(11000), false},
	} {
		s := scripted.New(t)
		s.Rest = tt.reply
		s.Servers[0].WireVersion.Max = tt.wire
		err := scripted.As[labeled](t, s.Execute(context.Background(), tt.op(s)))
		assert.Equal(t, tt.want, err.HasErrorLabel(driver.RetryableWriteError), "%s: %v", tt.name, err)
	}
}

// TestExecuteTransactionLosesItsPool is about a command of a transaction that finds its server's pool cleared: only the first is sent
// again. What the others had done is lost, which the label says.
func TestExecuteTransactionLosesItsPool(t *testing.T) {
	cleared := scripted.NoConnection{Err: scripted.PoolCleared{}}
	s := scripted.New(t, cleared, scripted.OK(), cleared)
	op := retriedTransaction(s)
	require.NoError(t, op.Execute(context.Background()), "the first command")
	err := s.Execute(context.Background(), op)
	assert.True(t, scripted.As[driver.Error](t, err).HasErrorLabel(driver.TransientTransactionError), "%v", err)
	assert.ErrorIs(t, err, scripted.PoolCleared{})
}

func TestExecuteCommitWithoutMajority(t *testing.T) {
	failed, transient := scripted.Failure(251), scripted.Failure(251, driver.TransientTransactionError)
	for _, tt := range []struct {
		name  string
		reply bson.D
		want  bool
	}{
		{name: "write concern timeout", reply: append(failed, scripted.WriteConcernError(64)), want: true},
		{name: "no write concern error", reply: failed, want: false},
		{name: "unknown write concern", reply: append(failed, scripted.WriteConcernError(79)), want: false},
		{name: "unsatisfiable write concern", reply: append(failed, scripted.WriteConcernError(100)), want: false},
		{name: "transient", reply: append(transient, scripted.WriteConcernError(64)), want: false},
	} {
		for _, committing := range []bool{true, false} {
			s := scripted.New(t, tt.reply)
			op := s.Commit()
			op.Client.Committing, op.Client.Aborting = committing, !committing
			err := scripted.As[driver.Error](t, s.Execute(context.Background(), op))
			assert.Equal(t, int32(251), err.Code, tt.name)
			assert.Equal(t, tt.want && committing, err.HasErrorLabel(driver.UnknownTransactionCommitResult), tt.name)
		}
	}
}

// TestCommitFailsWithLabelsOfTheReply is about a commit whose write concern failed: the error has what the reply says.
func TestCommitFailsWithLabelsOfTheReply(t *testing.T) {
	for code, unknown := range map[int32][]string{
		64: {driver.UnknownTransactionCommitResult}, 91: {driver.UnknownTransactionCommitResult}, 100: nil,
	} {
		concern := bson.D{{Key: "code", Value: code}, {Key: "codeName", Value: "name"}, {Key: "errmsg", Value: "text"}}
		s := scripted.New(t, scripted.OK(
			bson.E{Key: "errorLabels", Value: []string{"Own"}}, bson.E{Key: "writeConcernError", Value: concern},
		))
		err := scripted.As[driver.Error](t, s.Execute(context.Background(), s.Commit()))
		want := driver.Error{Code: code, Name: "name", Message: "text", Labels: append([]string{"Own"}, unknown...), Raw: err.Raw}
		assert.Equal(t, want, err)
		assert.NotNil(t, err.Raw)
	}
}
