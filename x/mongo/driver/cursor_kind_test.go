package driver_test

import (
	"context"
	"io"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// TestCursorKind is about the commands of cursors: those of a runCommand are retried with both options only.
func TestCursorKind(t *testing.T) {
	for _, send := range []func(*driver.BatchCursor) error{getMore, killCursor} {
		for _, runCommand := range []bool{false, true} {
			s := scripted.New(t, scripted.OpenedCursor(), scripted.Overloaded())
			if !runCommand {
				s.Replies = append(s.Replies, scripted.Failure(43)) // the cursor is gone
			}
			s.Policy.RetryWrites = false
			assert.Error(t, send(openCursor(t, s, runCommand)))
			s.Finish()
		}
	}
}

func getMore(cursor *driver.BatchCursor) error {
	cursor.Next(context.Background()) // the first batch, which is empty
	cursor.Next(context.Background())
	return cursor.Err()
}

func killCursor(cursor *driver.BatchCursor) error { return cursor.KillCursor(context.Background()) }

// TestGetMoreDoesNotUseAGivenBackConnection is about a cursor behind a load balancer that a monitor closes while its getMore backs off.
func TestGetMoreDoesNotUseAGivenBackConnection(t *testing.T) {
	s := scripted.New(t, scripted.OpenedCursor(), scripted.Overloaded(), scripted.OK())
	s.Topology, s.Servers[0].Kind = description.TopologyKindLoadBalanced, description.ServerKindLoadBalancer
	cursor := openCursor(t, s, false)
	s.OnSleep = func() { require.NoError(t, cursor.Close(context.Background())) }
	hasCode(462)(t, getMore(cursor))
	assert.Len(t, s.Sent, 3) // the first, getMore and killCursors
	s.Finish()
}

// TestCloseBehindALoadBalancer is about a cursor whose connection cannot be unpinned, and perhaps cannot be killed, which counts more.
func TestCloseBehindALoadBalancer(t *testing.T) {
	for i, reply := range []any{scripted.OK(), scripted.Failure(43)} {
		s := scripted.New(t, scripted.OpenedCursor(), reply)
		s.Topology, s.Servers[0].Kind, s.UnpinErr = description.TopologyKindLoadBalanced, description.ServerKindLoadBalancer, io.EOF
		err := openCursor(t, s, false).Close(context.Background())
		assert.Equal(t, []bool{true, i == 0}, []bool{err != nil, err == io.EOF}, "got %v", err)
		s.Finish()
	}
}

// openCursor opens a cursor by the reply to a command.
func openCursor(t *testing.T, s *scripted.Script, runCommand bool) *driver.BatchCursor {
	t.Helper()
	var cursor *driver.BatchCursor
	op := s.Command()
	op.ProcessResponseFn = func(_ context.Context, reply bsoncore.Document, info driver.ResponseInfo) error {
		doc, err := driver.ExtractCursorDocument(reply)
		require.NoError(t, err)
		response, err := driver.NewCursorResponse(doc, info)
		require.NoError(t, err)
		cursor, err = driver.NewBatchCursor(response, nil, nil, driver.CursorOptions{})
		return err
	}
	require.NoError(t, op.Execute(context.Background()))
	if runCommand {
		cursor.Kind = driver.RetryKindGeneric
	}
	return cursor
}
