package virtual

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"mongofork/lab/internal/bsondoc"
)

// TestErrorNamesItsServer is about a read that fails at one router and then at another: an address in its error is that of the last
// (retryable-reads.md, "If a retry attempt fails").
func TestErrorNamesItsServer(t *testing.T) {
	for name, fail := range map[string]func(Command) bson.Raw{
		"closed connection": func(Command) bson.Raw { return nil },
		"server's error":    func(c Command) bson.Raw { return Fail(c, 91) },
	} {
		virtually(t, name, func(t *testing.T) {
			cluster := New(t, Options{Topology: "sharded:2"})
			coll := connect(t, cluster.Client()).Database("db").Collection("c")
			require.NoError(t, coll.Database().Client().Ping(context.Background(), nil))
			var sent []string
			cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
				if c.Name != "find" {
					return run()
				}
				sent = append(sent, c.Host)
				return fail(c)
			})
			err := coll.FindOne(context.Background(), bson.D{}).Err()
			require.Error(t, err)
			require.Len(t, sent, 2)
			require.NotEqual(t, sent[0], sent[1])
			assert.NotContains(t, err.Error(), sent[0])
			if name == "closed connection" {
				assert.ErrorContains(t, err, sent[1])
			}
		})
	}
}

// TestRetryIsANewMessage is about a retry: it is another message than the first attempt, with the cluster time that the failed reply told
// (retryable-reads.md, "Implementation constraints").
func TestRetryIsANewMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := New(t, Options{Topology: "replicaset:1"})
		coll := connect(t, cluster.Client()).Database("db").Collection("c")
		require.NoError(t, coll.Database().Client().Ping(context.Background(), nil))
		told := bson.Timestamp{T: 1 << 31, I: 7}
		var sent []Command
		cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
			if c.Name != "find" {
				return run()
			}
			if sent = append(sent, c); len(sent) > 1 {
				return run()
			}
			return bsondoc.Marshal(bsondoc.D("ok", 0, "code", 134, "errmsg", "the read concern is not available yet", "$clusterTime",
				bsondoc.D("clusterTime", told)))
		})
		require.ErrorIs(t, coll.FindOne(context.Background(), bson.D{}).Err(), mongo.ErrNoDocuments)
		require.Len(t, sent, 2)
		assert.NotEqual(t, sent[0].Request, sent[1].Request)
		gossiped, err := sent[1].Body.LookupErr("$clusterTime", "clusterTime")
		require.NoError(t, err)
		seconds, ordinal := gossiped.Timestamp()
		assert.Equal(t, told, bson.Timestamp{T: seconds, I: ordinal})
		assert.Equal(t, sent[0].Body.Lookup("lsid").String(), sent[1].Body.Lookup("lsid").String(), "the same session")
	})
}

// TestConcurrentTransactionsHaveTheirOwnConnections is about transactions behind a load balancer that run at the same time: each has one
// connection for all of its commands, and none shares it (load-balancers.md, "Behaviour With Transactions").
func TestConcurrentTransactionsHaveTheirOwnConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const transactions, commands = 5, 4
		cluster := New(t, Options{Topology: "loadbalanced:1"})
		coll := connect(t, cluster.Client()).Database("db").Collection("c")
		var mu sync.Mutex
		connections, sessions := map[string]string{}, map[string]string{} // by each other
		cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
			if _, err := c.Body.LookupErr("autocommit"); err == nil {
				mu.Lock()
				defer mu.Unlock()
				session, connection := c.Body.Lookup("lsid").String(), fmt.Sprint(c.Host, c.Connection)
				assert.Contains(t, []string{"", connection}, connections[session], "connections of a transaction")
				assert.Contains(t, []string{"", session}, sessions[connection], "a connection of two transactions")
				connections[session], sessions[connection] = connection, session
			}
			return run()
		})
		var wg sync.WaitGroup
		for range transactions {
			wg.Go(func() {
				assert.NoError(t, coll.Database().Client().UseSession(context.Background(), func(ctx context.Context) error {
					return errorOf(mongo.SessionFromContext(ctx).WithTransaction(ctx, func(ctx context.Context) (any, error) {
						for range commands {
							assert.NoError(t, errorOf(coll.InsertOne(ctx, bson.D{})))
						}
						return nil, nil
					}))
				}))
			})
		}
		wg.Wait()
		assert.Len(t, connections, transactions)
	})
}
