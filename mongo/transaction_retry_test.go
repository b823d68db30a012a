package mongo

import (
	"context"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/overloadtest"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// newShardedScript returns a script for a cluster of three routers.
func newShardedScript(t *testing.T, replies ...any) *overloadtest.Script {
	s := overloadtest.New(t, replies...)
	s.Topology = description.TopologyKindSharded
	s.Servers = nil
	for _, host := range []string{"a", "b", "c"} {
		s.Servers = append(s.Servers, overloadtest.Server(host, description.ServerKindMongos))
	}
	return s
}

// servers returns the hosts that the commands were sent to, without the port.
func servers(s *overloadtest.Script) string {
	var hosts string
	for _, sent := range s.Sent {
		hosts += string(sent.Server[:1])
	}
	return hosts
}

// inTransaction runs the function in a transaction that it leaves open, and then ends the session.
func inTransaction(t *testing.T, s *overloadtest.Script, run func(context.Context, *Session, *Collection)) {
	t.Helper()

	client := connectScript(t, s)
	session, err := client.StartSession()
	require.NoError(t, err)
	require.NoError(t, session.StartTransaction())
	run(NewSessionContext(context.Background(), session), session, client.Database("db").Collection("coll"))
	session.EndSession(context.Background())
	s.Finish()
}

func insertAny(ctx context.Context, coll *Collection) error {
	_, err := coll.InsertOne(ctx, bson.D{})
	return err
}

// TestShardedTransactionRetries is about which router the commands of a transaction go to.
func TestShardedTransactionRetries(t *testing.T) {
	ok, overloaded := overloadtest.OK(), overloadtest.Overloaded()
	tests := []struct {
		name    string
		replies []any
		end     func(*Session, context.Context) error
		want    string
	}{
		{"the first command, elsewhere", []any{overloaded, overloaded, ok, ok, ok}, (*Session).CommitTransaction, "abccc"},
		{"another, on the same", []any{ok, overloaded, ok, ok}, (*Session).CommitTransaction, "aaaa"},
		{"a rejected commit, on the same", []any{ok, ok, overloaded, ok}, (*Session).CommitTransaction, "aaaa"},
		{"a commit of unknown result, elsewhere", []any{ok, ok, overloadtest.Failure(91, driver.RetryableWriteError, driver.UnknownTransactionCommitResult), ok},
			(*Session).CommitTransaction, "aaab"},
		{"a rejected abort, elsewhere", []any{ok, ok, overloaded, overloaded, ok}, (*Session).AbortTransaction, "aaabc"},
		{"an abort that fails otherwise, elsewhere", []any{ok, ok, overloadtest.ShuttingDown(), ok}, (*Session).AbortTransaction, "aaab"},
		{"both kinds of failures of an abort", []any{ok, ok, overloadtest.ShuttingDown(), overloaded, ok}, (*Session).AbortTransaction, "aaabc"},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			s := newShardedScript(t, tt.replies...)
			inTransaction(t, s, func(ctx context.Context, session *Session, coll *Collection) {
				require.NoError(t, insertAny(ctx, coll))
				require.NoError(t, insertAny(ctx, coll))
				require.NoError(t, tt.end(session, ctx))
			})
			assert.Equal(t, tt.want, servers(s))
		})
	}
}

func TestLoadBalancedTransactionRetries(t *testing.T) {
	t.Run("an abort is unpinned", func(t *testing.T) {
		s := newLoadBalancedScript(t, overloadtest.OK(), overloadtest.Overloaded(), overloadtest.Overloaded(), overloadtest.OK())
		inTransaction(t, s, func(ctx context.Context, session *Session, coll *Collection) {
			require.NoError(t, insertAny(ctx, coll))
			require.NoError(t, session.AbortTransaction(ctx))
		})
		assert.Equal(t, []int{1, 1, 2, 3}, connections(s))
	})
	t.Run("the first command is unpinned", func(t *testing.T) {
		s := newLoadBalancedScript(t, overloadtest.Overloaded(), overloadtest.Overloaded(), overloadtest.OK(), overloadtest.OK())
		inTransaction(t, s, func(ctx context.Context, session *Session, coll *Collection) {
			require.NoError(t, insertAny(ctx, coll))
			require.NoError(t, session.CommitTransaction(ctx))
		})
		assert.Equal(t, []int{1, 2, 3, 3}, connections(s))
		assert.Equal(t, []any{true, true, true, nil}, s.Field("startTransaction"))
	})
}

var errNoServer = errors.New("no server is suitable")

// TestTransactionLabelsOfRetries is about commands of a transaction whose last attempt does not get as far as the server.
func TestTransactionLabelsOfRetries(t *testing.T) {
	ok, overloaded, lost := overloadtest.OK(), overloadtest.Overloaded(), overloadtest.NoServer{Err: errNoServer}
	none := func(err error) any { return overloadtest.NoConnection{Err: err} }

	tests := []struct {
		name    string
		replies []any
		code    int32 // of the error returned
	}{
		{"no server", []any{ok, lost}, 0},
		{"no server after an overload", []any{ok, overloaded, lost}, 462},
		{"no server after two", []any{ok, overloaded, overloaded, lost}, 462},
		{"pool is paused", []any{ok, none(overloadtest.PoolPaused())}, 0},
		{"pool is cleared", []any{ok, none(overloadtest.PoolCleared{})}, 0},
		{"pool is paused after an overload", []any{ok, overloaded, none(overloadtest.PoolPaused())}, 462},
		{"pool is cleared after an overload", []any{ok, overloaded, none(overloadtest.PoolCleared{})}, 462},
		{"connection breaks in the handshake", []any{ok, none(overloadtest.ClosedHandshake())}, 0},
		{"connection breaks in the handshake after an overload", []any{ok, overloaded, none(overloadtest.ClosedHandshake())}, 462},
		{"conflict that says it has written nothing, after an overload",
			[]any{ok, overloaded, overloadtest.Failure(112, driver.TransientTransactionError, driver.NoWritesPerformed)}, 462},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			s := newShardedScript(t, append(tt.replies, ok /* abort */)...)
			inTransaction(t, s, func(ctx context.Context, session *Session, coll *Collection) {
				require.NoError(t, insertAny(ctx, coll))
				err := insertAny(ctx, coll)
				var cmdErr CommandError
				require.True(t, errors.As(err, &cmdErr), "got %T (%v)", err, err)
				assert.Equal(t, tt.code, cmdErr.Code)
				assert.True(t, cmdErr.HasErrorLabel(driver.TransientTransactionError), "got %v", cmdErr.Labels)
				assert.Equal(t, tt.code == 462, cmdErr.HasErrorLabel(driver.ErrSystemOverloadedError))
				assert.False(t, cmdErr.HasErrorLabel(driver.RetryableWriteError))
				assert.Nil(t, session.clientSession.PinnedServerAddr, "an abort would wait for the server that is gone")
				require.NoError(t, session.AbortTransaction(ctx))
			})
		})
	}
}

// TestWithTransactionOutlivesAnOutage is about a server that is lost in the retry of a command.
func TestWithTransactionOutlivesAnOutage(t *testing.T) {
	ok := overloadtest.OK()
	s := newShardedScript(t, ok, overloadtest.Overloaded(), overloadtest.NoServer{Err: errNoServer}, ok /* abort */, ok, ok, ok)
	client := connectScript(t, s)
	session, err := client.StartSession()
	require.NoError(t, err)
	calls := 0
	_, err = session.WithTransaction(context.Background(), func(ctx context.Context) (any, error) {
		calls++
		coll := client.Database("db").Collection("coll")
		if err := insertAny(ctx, coll); err != nil {
			return nil, err
		}
		return nil, insertAny(ctx, coll)
	})
	require.NoError(t, err)
	session.EndSession(context.Background())
	s.Finish()
	assert.Equal(t, 2, calls)
}

// TestCommitThatGetsNoConnection is about a commit that is not sent. It must not be taken for a transaction that can be run again: the
// commit before may have been executed.
func TestCommitThatGetsNoConnection(t *testing.T) {
	unknown := overloadtest.Failure(91, driver.RetryableWriteError, driver.UnknownTransactionCommitResult)
	for name, err := range map[string]error{
		"paused": overloadtest.PoolPaused(), "cleared": overloadtest.PoolCleared{}, "closed in the handshake": overloadtest.ClosedHandshake(),
	} {
		none := overloadtest.NoConnection{Err: err}
		t.Run(name, func(t *testing.T) {
			s := newShardedScript(t, overloadtest.OK(), unknown, none, none, none, overloadtest.OK())
			inTransaction(t, s, func(ctx context.Context, session *Session, coll *Collection) {
				require.NoError(t, insertAny(ctx, coll))
				for i := 0; i < 2; i++ {
					err := session.CommitTransaction(ctx)
					assert.True(t, errorHasLabel(err, driver.UnknownTransactionCommitResult), "got %v", err)
					assert.False(t, errorHasLabel(err, driver.TransientTransactionError), "got %v", err)
				}
				require.NoError(t, session.CommitTransaction(ctx))
			})
		})
	}
}
