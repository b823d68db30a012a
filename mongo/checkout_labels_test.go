package mongo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
)

const ofClientBulkWrite = "client bulk write"

// unsentWrites are methods that send a single write.
var unsentWrites = map[string]func(context.Context, *Collection) error{
	"insert": insertAny,
	"update": func(ctx context.Context, c *Collection) error {
		_, err := c.UpdateOne(ctx, anything, increment)
		return err
	},
	"findAndModify": func(ctx context.Context, c *Collection) error {
		return c.FindOneAndUpdate(ctx, anything, increment).Err()
	},
	"bulk write": func(ctx context.Context, c *Collection) error {
		_, err := c.BulkWrite(ctx, []WriteModel{NewInsertOneModel().SetDocument(anything)})
		return err
	},
	ofClientBulkWrite: func(ctx context.Context, c *Collection) error {
		_, err := c.client.BulkWrite(ctx, inserts(1))
		return err
	},
}

// TestWriteWithoutConnectionIsLabelled is about the label of a write that gets no connection (retryable-writes.md,
// "RetryableWriteError Labels"). Within a transaction there is none.
func TestWriteWithoutConnectionIsLabelled(t *testing.T) {
	for name, err := range map[string]error{
		"paused": scripted.PoolPaused(), "cleared": scripted.PoolCleared{},
		"closed in the handshake": scripted.ClosedHandshake(),
	} {
		none := scripted.NoConnection{Err: err}
		for method, run := range unsentWrites {
			if method == ofClientBulkWrite && !topics["outcomes"] {
				continue
			}
			run := run
			t.Run(fmt.Sprintf("%s/%s", name, method), func(t *testing.T) {
				s := scripted.New(t, none, none)
				coll := connectScript(t, s).Database("db").Collection("coll")
				err := run(context.Background(), coll)
				assert.True(t, errorHasLabel(err, driver.RetryableWriteError), "got %T (%v)", err, err)
				s.Finish()
			})
			t.Run(fmt.Sprintf("%s/%s, retryWrites off", name, method), func(t *testing.T) {
				s := scripted.New(t, none)
				s.Policy.RetryWrites = false
				coll := connectScript(t, s, options.Client().SetRetryWrites(false)).Database("db").Collection("coll")
				err := run(context.Background(), coll)
				require.Error(t, err)
				assert.False(t, errorHasLabel(err, driver.RetryableWriteError), "got %T (%v)", err, err)
				s.Finish()
			})
			t.Run(fmt.Sprintf("%s/%s in a transaction", name, method), func(t *testing.T) {
				s := newShardedScript(t, scripted.OK(), none, scripted.OK())
				inTransaction(t, s, func(ctx context.Context, session *Session, coll *Collection) {
					require.NoError(t, insertAny(ctx, coll))
					err := run(ctx, coll)
					assert.False(t, errorHasLabel(err, driver.RetryableWriteError), "got %T (%v)", err, err)
					assert.True(t, errorHasLabel(err, driver.TransientTransactionError), "got %T (%v)", err, err)
					require.NoError(t, session.AbortTransaction(ctx))
				})
			})
		}
	}
}

// TestFailedAuthenticationIsLabelled is the same on the wire. The error stays of the types that it has without the label.
func TestFailedAuthenticationIsLabelled(t *testing.T) {
	for name, run := range unsentWrites {
		run := run
		t.Run(name, func(t *testing.T) {
			a := authenticate(t, []any{io.EOF, io.EOF})
			err := run(context.Background(), a.Client.Database("db").Collection("coll"))
			assert.True(t, errorHasLabel(err, driver.RetryableWriteError), "got %T (%v)", err, err)
			assert.True(t, IsNetworkError(err), "got %T (%v)", err, err)
			var connErr topology.ConnectionError
			assert.True(t, errors.As(err, &connErr), "got %T (%v)", err, err)
		})
	}
	t.Run("not of a read", func(t *testing.T) {
		a := authenticate(t, []any{io.EOF, io.EOF})
		err := a.Client.Database("db").Collection("coll").FindOne(context.Background(), anything).Err()
		assert.False(t, errorHasLabel(err, driver.RetryableWriteError), "got %T (%v)", err, err)
		assert.True(t, IsNetworkError(err), "got %T (%v)", err, err)
	})
	t.Run("not a server's refusal", func(t *testing.T) {
		a := authenticate(t, []any{scripted.Failure(18)})
		err := insertAny(context.Background(), a.Client.Database("db").Collection("coll"))
		require.Error(t, err)
		assert.False(t, errorHasLabel(err, driver.RetryableWriteError), "got %T (%v)", err, err)
	})
}

// TestClosedHelloIsLabelled is about connections that a server which limits their rate closes before authentication
// (connection-monitoring-and-pooling.md, "Backpressure-enabled").
func TestClosedHelloIsLabelled(t *testing.T) {
	commands := map[string]func(context.Context, *Collection) error{
		"read": func(ctx context.Context, c *Collection) error { return c.FindOne(ctx, anything).Err() },
		"ping": func(ctx context.Context, c *Collection) error { return c.client.Ping(ctx, nil) },
	}
	for name, run := range unsentWrites {
		commands[name] = run
	}
	for name, run := range commands {
		run := run
		t.Run(name, func(t *testing.T) {
			a := authenticate(t, nil, options.Client().SetMaxConnIdleTime(time.Nanosecond))
			require.NoError(t, a.Ping(context.Background(), nil))
			a.listener.Refuse.Store(math.MaxInt64)
			err := run(context.Background(), a.Client.Database("db").Collection("coll"))
			a.listener.Refuse.Store(0)
			for _, label := range []string{driver.NetworkError, driver.ErrSystemOverloadedError, driver.ErrRetryableError} {
				assert.True(t, errorHasLabel(err, label), "%s of %T (%v)", label, err, err)
			}
		})
	}
}
