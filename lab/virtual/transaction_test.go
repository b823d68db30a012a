package virtual

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	driverevent "go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// transact runs a transaction that inserts a document and then calls the function.
func transact(ctx context.Context, t *testing.T, client *mongo.Client, then func(context.Context) error) error {
	t.Helper()
	session, err := client.StartSession()
	require.NoError(t, err)
	defer session.EndSession(context.Background())
	_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
		if _, err := client.Database("db").Collection("c").InsertOne(ctx, bson.D{}); err != nil {
			return nil, err
		}
		return nil, then(ctx)
	})
	return err
}

// TestCommitWithoutConnection is about a commit that needs a connection while the server closes new ones: it may be retried, but
// WithTransaction does not insist.
func TestCommitWithoutConnection(t *testing.T) {
	for _, option := range []string{"retryWrites=true", "maxAdaptiveRetries=0", "adaptiveRetries=true"} {
		t.Run(option, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := New(t, Options{})
				client := connect(t, cluster.Client("maxIdleTimeMS=10", option))
				var before int
				start := time.Now()
				err := transact(t.Context(), t, client, func(context.Context) error {
					time.Sleep(time.Second)
					cluster.SetLink(Closing)
					before, start = len(cluster.Connections()), time.Now()
					return nil
				})
				require.Error(t, err)
				cluster.SetLink(Up)
				assert.LessOrEqual(t, len(cluster.Connections())-before, 6, "connections")
				assert.Less(t, time.Since(start), 7*time.Second)
			})
		})
	}
}

// TestAbortAfterTheCall is about an abort that the server rejects once the caller has gone: it is sent again, because the transaction's
// locks would stay.
func TestAbortAfterTheCall(t *testing.T) {
	for _, option := range []string{"retryWrites=true", "timeoutMS=5000"} {
		t.Run(option, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := New(t, Options{})
				client := connect(t, cluster.Client(option))
				rejected := false
				cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
					if c.Name == "abortTransaction" && !rejected {
						rejected = true
						return Reject(RequestRate)
					}
					return run()
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				start := time.Now()
				err := transact(ctx, t, client, func(ctx context.Context) error {
					<-ctx.Done()
					return ctx.Err()
				})
				require.ErrorIs(t, err, context.DeadlineExceeded)
				assert.Equal(t, 2, cluster.Count("abortTransaction"))
				open, unstarted := cluster.Transactions()
				assert.Zero(t, open+unstarted)
				assert.Less(t, time.Since(start), 1500*time.Millisecond)
			})
		})
	}
}

// TestTimeoutOfTheEnd is about a server that never answers a commit or an abort: the client's Timeout ends it, anew for each.
func TestTimeoutOfTheEnd(t *testing.T) {
	const timeout = 5 * time.Second
	for _, end := range []string{"commitTransaction", "abortTransaction"} {
		t.Run(end, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := New(t, Options{})
				client := connect(t, cluster.Client("timeoutMS=5000"))
				cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
					if c.Name == end {
						time.Sleep(30 * time.Minute)
					}
					return run()
				})
				start := time.Now()
				err := transact(t.Context(), t, client, func(context.Context) error {
					if end == "abortTransaction" {
						return errors.New("not to be committed")
					}
					return nil
				})
				require.Error(t, err)
				assert.LessOrEqual(t, time.Since(start), 2*timeout) // EndSession aborts, too
			})
		})
	}
}

// TestBackoffEndsWithItsContext is about a command whose context is derived from that of a commit, which has somebody else waiting
// for it: the command's own end counts as well.
func TestBackoffEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const until = 10 * time.Millisecond
		cluster := New(t, Options{})
		var client *mongo.Client
		var took time.Duration
		monitor := &driverevent.CommandMonitor{Started: func(ctx context.Context, e *driverevent.CommandStartedEvent) {
			if e.CommandName != "commitTransaction" {
				return
			}
			ctx, cancel := context.WithCancel(mongo.NewSessionContext(ctx, nil))
			time.AfterFunc(until, cancel)
			start := time.Now()
			assert.Error(t, client.Database("db").Collection("c").FindOne(ctx, bson.D{}).Err())
			took = time.Since(start)
		}}
		client = connect(t, cluster.Client().SetMonitor(monitor))
		cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
			if c.Name == "find" {
				return Reject(RequestRate)
			}
			return run()
		})
		require.NoError(t, transact(t.Context(), t, client, func(context.Context) error { return nil }))
		assert.LessOrEqual(t, took, until)
	})
}
