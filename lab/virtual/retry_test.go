package virtual

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	driverevent "go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/servererror"
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

// provider gives tokens, each another one, and with the first ones a refresh token. It counts what it was asked for.
type provider struct{ logins, refreshed int }

func (p *provider) token(_ context.Context, args *options.OIDCArgs) (*options.OIDCCredential, error) {
	if args.RefreshToken != nil {
		p.refreshed++
	} else {
		p.logins++
	}
	refresh := fmt.Sprint("refresh", p.refreshed)
	return &options.OIDCCredential{AccessToken: fmt.Sprint(Token, p.logins, p.refreshed), RefreshToken: &refresh}, nil
}

// TestRejectedReauthentication is about an overloaded server that wants a new token on each connection, and then rejects it twice: the
// token stays, also for the other connections, and nobody is asked for another.
func TestRejectedReauthentication(t *testing.T) {
	for _, human := range []bool{false, true} {
		for _, speculative := range []bool{false, true} {
			virtually(t, fmt.Sprint("human: ", human, ", speculative: ", speculative), func(t *testing.T) {
				var p provider
				credential, want := options.Credential{AuthMechanism: "MONGODB-OIDC", OIDCMachineCallback: p.token}, provider{logins: 2}
				if human {
					credential.OIDCMachineCallback, credential.OIDCHumanCallback = nil, p.token
					want = provider{logins: 1, refreshed: 1}
				}
				cluster := New(t, Options{Topology: "replicaset:1", Auth: &Auth{Speculative: speculative}, TLS: encryption()})
				opts := cluster.Client("tls=true", "tlsInsecure=true").SetAuth(credential)
				client := connect(t, opts.SetPoolMonitor(&driverevent.PoolMonitor{Event: func(e *driverevent.PoolEvent) {
					assert.NotEqual(t, driverevent.ConnectionPoolCleared, e.Type)
				}}))
				var mu sync.Mutex
				expired, renewed, rejections := false, map[uint64]bool{}, 2
				cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
					time.Sleep(10 * time.Millisecond) // so that calls need connections of their own
					mu.Lock()
					defer mu.Unlock()
					switch {
					case c.Name == "find" && expired && !renewed[c.Connection]:
						return servererror.Errorf(391, "the token has expired").Reply()
					case c.Name == "saslStart" && expired && rejections > 0:
						rejections--
						return RequestRate.Reply()
					case c.Name == "saslStart" && expired:
						renewed[c.Connection] = true
					}
					return run()
				})
				finds := func() {
					var running sync.WaitGroup
					for range 5 {
						running.Go(func() {
							err := client.Database("db").Collection("c").FindOne(context.Background(), bson.D{}).Err()
							assert.ErrorIs(t, err, mongo.ErrNoDocuments)
						})
					}
					running.Wait()
				}
				finds()
				assert.Equal(t, provider{logins: 1}, p)
				expired = true
				finds()
				assert.Zero(t, rejections)
				assert.NotEmpty(t, renewed)
				assert.Equal(t, want, p)
			})
		}
	}
}
