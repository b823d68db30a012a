package scripted

import (
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/uuid"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/session"
)

// OK is the reply to a successful command.
func OK(more ...bson.E) bson.D {
	return append(bson.D{{Key: "ok", Value: 1}}, more...)
}

// OpenedCursor is the reply of a server that opens a cursor, whose first batch is empty.
func OpenedCursor() bson.D {
	return OK(bson.E{Key: "cursor", Value: bson.D{
		{Key: "id", Value: int64(7)}, {Key: "ns", Value: "db.coll"}, {Key: "firstBatch", Value: bson.A{}},
	}})
}

// WriteConcernError is what a reply has if the server has executed a write, but for its write concern.
func WriteConcernError(code int, labels ...string) bson.E {
	return bson.E{Key: "writeConcernError", Value: Failure(code, labels...)[1:]}
}

// Failure is the reply to a failed command.
func Failure(code int, labels ...string) bson.D {
	return bson.D{
		{Key: "ok", Value: 0},
		{Key: "code", Value: code},
		{Key: "errmsg", Value: "scripted"},
		{Key: "errorLabels", Value: labels},
	}
}

// Overloaded is the reply of an overloaded server.
func Overloaded() bson.D {
	return Failure(462, "SystemOverloadedError", "RetryableError")
}

// Rejected is the reply of an overloaded server from version 8.2.6 on.
func Rejected() bson.D {
	return Failure(462, "SystemOverloadedError", "RetryableError", "NoWritesPerformed")
}

// ShuttingDown is a reply after which the Retryable Reads and Retryable Writes specifications retry a command. The server may
// have executed it.
func ShuttingDown() bson.D {
	return Failure(91, "RetryableWriteError")
}

// Repeat returns the reply n times.
func Repeat(n int, reply any) []any {
	replies := make([]any, n)
	for i := range replies {
		replies[i] = reply
	}
	return replies
}

// Command returns an operation without type and name, like runCommand.
func (s *Script) Command() driver.Operation {
	return driver.Operation{CommandFn: Named("anything"), Database: "db", Deployment: s}
}

// Named makes a command of this name.
func Named(name string) func([]byte, description.SelectedServer) ([]byte, error) {
	return func(dst []byte, _ description.SelectedServer) ([]byte, error) {
		return bsoncore.AppendInt32Element(dst, name, 1), nil
	}
}

// Read returns a retryable read, which a secondary may answer.
func (s *Script) Read() driver.Operation {
	op := s.Command()
	op.Type = driver.Read
	op.RetryMode = RetryOncePerCommand()
	op.ReadPreference = readpref.Nearest()
	return op
}

// Write returns a retryable write in an implicit session.
func (s *Script) Write() driver.Operation {
	op := s.Command()
	op.Type = driver.Write
	op.RetryMode = RetryOncePerCommand()
	op.Client = session.NewImplicitClientSession(session.NewPool(nil), uuid.UUID{})
	return op
}

// Transaction returns a write in a transaction that has just been started.
func (s *Script) Transaction() driver.Operation {
	op := s.Command()
	op.Type = driver.Write
	op.Client = Session(s.t)
	require.NoError(s.t, op.Client.StartTransaction(nil))
	return op
}

// Session returns an explicit session.
func Session(t testing.TB) *session.Client {
	client, err := session.NewClientSession(session.NewPool(nil), uuid.UUID{})
	require.NoError(t, err)
	require.NoError(t, client.SetServer())
	return client
}

// Commit returns the commit of a transaction that has begun.
func (s *Script) Commit() driver.Operation {
	op := s.Transaction()
	op.RetryMode = RetryOncePerCommand()
	require.NoError(s.t, op.Client.ApplyCommand(s.Servers[0]))
	op.Client.Committing, op.CommandFn = true, Named("commitTransaction")
	return op
}

// As returns the first error of the type that an error is or wraps. The test fails if there is none.
func As[E error](t testing.TB, err error, of ...any) (found E) {
	t.Helper()
	require.True(t, errors.As(err, &found), "%v: got %T (%v), want %T", of, err, err, found)
	return found
}

// RetryOncePerCommand returns the retry mode that the client's retryReads and retryWrites mean.
func RetryOncePerCommand() *driver.RetryMode {
	mode := driver.RetryOncePerCommand
	return &mode
}
