package virtual

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/servererror"
	"mongofork/lab/internal/topology"
)

func id(n int) bson.D { return bson.D{{Key: "_id", Value: n}} }

// connect returns a client that disconnects at the end of the test.
func connect(t testing.TB, opts ...*options.ClientOptions) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client
}

// virtually is a test of its own in a bubble.
func virtually(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// limited returns a context with a deadline, or sets the client's Timeout.
func limited(t *testing.T, opts *options.ClientOptions, end string, after time.Duration) context.Context {
	if end == byTimeout {
		opts.SetTimeout(after)
		return context.Background()
	}
	ctx, cancel := context.WithTimeout(context.Background(), after)
	t.Cleanup(cancel)
	return ctx
}

// TestOtherRouter is about the commands of a transaction that meet another router than the one at which it began.
func TestOtherRouter(t *testing.T) {
	s, current := newStore(topology.Spec{Kind: topology.Sharded, Members: 2}, Options{}), &session{number: -1}
	for i, one := range []struct {
		router, command string
		unstarted       int
	}{{"a", "ping", 0}, {"a", "ping", 0}, {"b", "ping", 1}, {"b", "commitTransaction", 1}} {
		q := &query{Request: &proxy.Request{Command: one.command}, host: one.router}
		q.StartTransaction = i == 0
		_, failed := s.inTransaction(q, current, 1)
		assert.Nil(t, failed)
		assert.Equal(t, one.unstarted, s.unstarted, "%d, %s", i, one.command)
	}
}

// TestServerIsFoundAgain: a client that has lost a server finds it again, whatever limits its checks.
func TestServerIsFoundAgain(t *testing.T) {
	for _, uri := range []string{"", "connectTimeoutMS=0", "connectTimeoutMS=0&serverMonitoringMode=poll"} {
		virtually(t, uri, func(t *testing.T) {
			cluster := New(t, Options{Topology: "sharded:1"})
			coll := connect(t, cluster.Client(uri)).Database("db").Collection("c")
			for range 3 {
				_, err := coll.InsertOne(context.Background(), bson.D{})
				require.NoError(t, err)
				time.Sleep(time.Minute)
				cluster.Stop(0)
				time.Sleep(time.Minute)
				cluster.Restart(0)
			}
		})
	}
}

// TestZstd is about a command and rejections that are compressed with zstd: the command is compressed again for each attempt. It takes
// real time, less than a second, because the package zstd keeps channels beyond a bubble.
func TestZstd(t *testing.T) {
	t.Parallel()
	cluster := New(t, Options{Topology: "replicaset:1"})
	var sent, plain atomic.Int32
	cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
		switch {
		case proxy.IsHello(c.Name):
			return bsondoc.With(run(), bson.E{Key: "compression", Value: bson.A{"zstd"}})
		case c.Name != "insert":
			return run()
		case !c.Compressed:
			plain.Add(1)
		}
		if sent.Add(1) < 3 {
			return RequestRate.Reply()
		}
		return run()
	})
	coll := connect(t, cluster.Client("compressors=zstd")).Database("db").Collection("c")
	_, err := coll.InsertOne(context.Background(), bson.D{{Key: "_id", Value: 1}})
	require.NoError(t, err)
	assert.EqualValues(t, 3, sent.Load())
	assert.Zero(t, plain.Load())
}

// TestReaderMissesNoTimer is about real time: what a reader waits for may arrive after the reader has looked and before it waits.
func TestReaderMissesNoTimer(t *testing.T) {
	t.Parallel()
	h := &host{network: &network{}, address: &net.TCPAddr{}, latency: time.Millisecond}
	client, server := h.connect()
	missed := time.AfterFunc(time.Minute, server.changed.Broadcast)
	buffer := make([]byte, 1)
	var n int
	for late := true; late; late = n > 0 { // a busy machine may come back only after that millisecond
		_, err := client.Write([]byte{1})
		require.NoError(t, err)
		h.mu.Lock()
		n, err = server.take(buffer)
		require.NoError(t, err)
		if n > 0 {
			h.mu.Unlock()
		}
	}
	defer h.mu.Unlock()
	time.Sleep(20 * time.Millisecond) // the scheduler may take that long
	server.changed.Wait()
	assert.True(t, missed.Stop(), "the timer woke nobody")
	n, err := server.take(buffer)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
}

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
				client := connect(t, opts.SetPoolMonitor(&event.PoolMonitor{Event: func(e *event.PoolEvent) {
					assert.NotEqual(t, event.ConnectionPoolCleared, e.Type)
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

// frugal is a dialer that can be out of files.
type frugal struct {
	options.ContextDialer
	out   atomic.Bool
	dials atomic.Int64 // without a file
}

func (f *frugal) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if !f.out.Load() {
		return f.ContextDialer.DialContext(ctx, network, address)
	}
	f.dials.Add(1)
	return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("socket", syscall.EMFILE)}
}

// TestClientOutOfFiles is about five seconds in which a client of three members can open no connection, with more calls than it has
// connections: those that there are serve calls, nothing is learnt about the servers, and no call dials more than twice. With a deadline,
// a call dials between backoffs until one of the connections is idle.
func TestClientOutOfFiles(t *testing.T) {
	for _, option := range []string{"", "adaptiveThrottling=true", "adaptiveRetries=true", "timeoutMS=2000"} {
		virtually(t, option, func(t *testing.T) { outOfFiles(t, option) })
	}
}

const (
	warming = 6                     // calls at a time that open connections
	wanting = 100                   // calls at a time that want one
	without = 5 * time.Second       // without files
	working = 10 * time.Millisecond // of a server at a command
	pausing = 10 * time.Millisecond // of a caller after an error
)

// counted is what became of calls, and an error of those that failed.
type counted struct {
	served, failed int
	err            error
}

// count makes so many calls at a time, one after the other, for a while.
func count(coll *mongo.Collection, callers int, while time.Duration) (all counted) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for end := time.Now().Add(while); callers > 0; callers-- {
		wg.Go(func() {
			for time.Now().Before(end) {
				_, err := coll.EstimatedDocumentCount(context.Background())
				mu.Lock()
				if err == nil {
					all.served++
				} else {
					all.failed, all.err = all.failed+1, err
				}
				mu.Unlock()
				if err != nil {
					time.Sleep(pausing)
				}
			}
		})
	}
	wg.Wait()
	return all
}

func outOfFiles(t *testing.T, option string) {
	var lost, ready atomic.Int64 // pools that were cleared, and servers that became unknown; connections
	cluster := New(t, Options{Topology: "replicaset:3"})
	cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
		if c.Name == "count" {
			time.Sleep(working)
		}
		return run()
	})
	opts := cluster.Client(option).SetReadPreference(readpref.Nearest())
	dialer := &frugal{ContextDialer: opts.Dialer}
	client := connect(t, opts.SetDialer(dialer).
		SetPoolMonitor(&event.PoolMonitor{Event: func(e *event.PoolEvent) {
			switch e.Type {
			case event.ConnectionPoolCleared:
				lost.Add(1)
			case event.ConnectionReady:
				ready.Add(1)
			}
		}}).
		SetServerMonitor(&event.ServerMonitor{ServerDescriptionChanged: func(e *event.ServerDescriptionChangedEvent) {
			if e.NewDescription.Kind == "Unknown" {
				lost.Add(1)
			}
		}}))
	coll := client.Database("db").Collection("c")
	require.Zero(t, count(coll, warming, time.Second).failed)
	capacity := int(ready.Load()) * int(without/(working+time.Millisecond)) // of these connections
	lost.Store(0)

	dialer.out.Store(true)
	calls := count(coll, wanting, without)
	dialer.out.Store(false)
	assert.Zero(t, lost.Load())
	assert.Greater(t, calls.served, capacity*3/4)
	if strings.HasPrefix(option, "timeoutMS") {
		assert.Less(t, calls.failed, calls.served/20)
		assert.Less(t, int(dialer.dials.Load()), 10*wanting*int(without/time.Second))
		assert.Zero(t, count(coll, warming, time.Second).failed)
		return
	}
	assert.Positive(t, calls.failed)
	assert.LessOrEqual(t, int(dialer.dials.Load()), 2*(calls.served+calls.failed))
	assert.ErrorIs(t, calls.err, syscall.EMFILE)
	assert.ErrorContains(t, calls.err, "ulimit -n")
	assert.True(t, mongo.IsNetworkError(calls.err))
	var labeled mongo.LabeledError
	if assert.ErrorAs(t, calls.err, &labeled) {
		assert.False(t, labeled.HasErrorLabel("SystemOverloadedError"))
		assert.False(t, labeled.HasErrorLabel("RetryableError"))
	}
	fork, ok := any(client).(interface { // what upstream's client lacks, for which this compiles, too
		ThrottleProbabilities() map[string]float64
		RetryTokens() (float64, bool)
	})
	require.True(t, ok)
	for server, withheld := range fork.ThrottleProbabilities() {
		assert.Zero(t, withheld, server)
	}
	if tokens, limited := fork.RetryTokens(); limited {
		assert.Equal(t, 1000.0, tokens)
	}
	assert.Zero(t, count(coll, warming, time.Second).failed)
}
