package mongo

import (
	"context"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
)

// TestCommitThatFindsNoServer is about a commit that no server is selected for: the result is unknown, and the session is not
// pinned to the server that is gone (transactions.md, "UnknownTransactionCommitResult" and "When to unpin").
func TestCommitThatFindsNoServer(t *testing.T) {
	waited := func(err error) error { return topology.ServerSelectionError{Wrapped: err} }
	tests := []struct {
		name string
		err  error
		want bool
	}{
		{name: "none in time", err: waited(context.DeadlineExceeded), want: true},
		{name: "cancelled", err: waited(context.Canceled), want: true},
		{name: "client is disconnected", err: topology.ErrTopologyClosed, want: false},
		{name: "server is too old", err: errors.New("wire version"), want: false},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			none := scripted.NoServer{Err: tt.err}
			s := newShardedScript(t, scripted.OK(), none, none, scripted.OK())
			inTransaction(t, s, func(ctx context.Context, session *Session, coll *Collection) {
				require.NoError(t, insertAny(ctx, coll))
				for i := 0; i < 2; i++ {
					err := session.CommitTransaction(ctx)
					require.Error(t, err)
					assert.Equal(t, tt.want, errorHasLabel(err, driver.UnknownTransactionCommitResult), "got %v", err)
					assert.False(t, errorHasLabel(err, driver.TransientTransactionError), "got %v", err)
					assert.Equal(t, tt.want, session.clientSession.PinnedServerAddr == nil, "pinned")
				}
				require.NoError(t, session.CommitTransaction(ctx))
			})
		})
	}
}

// TestWithTransactionCommitsWhenAServerIsBack is about an outage that begins with the commit.
func TestWithTransactionCommitsWhenAServerIsBack(t *testing.T) {
	none := scripted.NoServer{Err: topology.ServerSelectionError{Wrapped: context.DeadlineExceeded}}
	s := newShardedScript(t, scripted.OK(), none, none, scripted.OK())
	calls, err := insertInTransaction(context.Background(), t, s)
	require.NoError(t, err)
	assert.Equal(t, 1, calls)
}
