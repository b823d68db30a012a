package virtual

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
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
)

// out counts connections that are checked out.
func out(opts *options.ClientOptions) *atomic.Int32 {
	var n atomic.Int32
	opts.SetPoolMonitor(&driverevent.PoolMonitor{Event: func(e *driverevent.PoolEvent) {
		switch e.Type {
		case driverevent.ConnectionCheckedOut:
			n.Add(1)
		case driverevent.ConnectionCheckedIn:
			n.Add(-1)
		}
	}})
	return &n
}

// TestQuietStreams is about streams whose Next times out, or is cancelled, before any event: each goes on with an aggregate and no
// getMore before it, gets every event once, and leaves no cursor.
func TestQuietStreams(t *testing.T) {
	for _, end := range []string{byDeadline, byTimeout, byCancel} {
		virtually(t, end, func(t *testing.T) {
			cluster := New(t, Options{})
			opts := cluster.Client()
			if end == byTimeout {
				opts.SetTimeout(time.Second)
			}
			coll := connect(t, opts).Database("db").Collection("c")
			for range 20 {
				stream, err := coll.Watch(context.Background(), mongo.Pipeline{}, options.ChangeStream().SetMaxAwaitTime(900*time.Millisecond))
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(context.Background())
				switch end {
				case byDeadline:
					ctx, cancel = context.WithTimeout(ctx, 1100*time.Millisecond)
				case byCancel:
					time.AfterFunc(1100*time.Millisecond, cancel)
				}
				require.False(t, stream.Next(ctx))
				cancel()
				assert.Equal(t, end != byCancel, mongo.IsTimeout(stream.Err()), stream.Err())
				assert.NotZero(t, stream.ID())
				_, err = coll.InsertOne(context.Background(), bson.D{})
				require.NoError(t, err)
				aggregates, getMores := cluster.Count("aggregate"), cluster.Count("getMore")
				require.True(t, stream.Next(context.Background()), stream.Err())
				assert.Equal(t, aggregates+1, cluster.Count("aggregate"))
				assert.Equal(t, getMores, cluster.Count("getMore"))
				require.NoError(t, stream.Close(context.Background()))
			}
			assert.Zero(t, cluster.Cursors())
		})
	}
}

// TestCloseWithoutTime is about what is closed or ended with a context that has ended: it is done all the same, if that takes no more than
// 2 seconds.
func TestCloseWithoutTime(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, name := range []string{"Cursor.Close", "ChangeStream.Close", "Session.EndSession", "Session.AbortTransaction"} {
		for _, answered := range []bool{true, false} {
			virtually(t, fmt.Sprint(name, answered), func(t *testing.T) {
				cluster := New(t, Options{})
				fill(cluster, name)
				client := connect(t, cluster.Client())
				w := waitingCalls()[name](t, context.Background(), client, client.Database("db").Collection("c"))
				release := held(cluster, func(c Command) bool {
					return !answered && (c.Name == "killCursors" || c.Name == "abortTransaction")
				})
				defer release()
				start := time.Now()
				err := w.call(ended)
				assert.Equal(t, answered, time.Since(start) < cleanUp-time.Millisecond)
				assert.LessOrEqual(t, time.Since(start), cleanUp+time.Millisecond)
				assert.Equal(t, answered || w.mute, err == nil, "%v", err)
				transactions, _ := cluster.Transactions()
				assert.Equal(t, answered, cluster.Cursors()+transactions == 0)
			})
		}
	}
}

// TestAllWithoutAnswers is about the commands of All and of the list helpers that get no answer: the call ends with its deadline, and the
// time for closing the cursor.
func TestAllWithoutAnswers(t *testing.T) {
	const deadline = 10 * time.Second
	for _, end := range []string{byDeadline, byTimeout} {
		for _, unanswered := range [][]string{{"killCursors", "getMore"}, {"getMore"}} {
			virtually(t, fmt.Sprint(end, unanswered), func(t *testing.T) {
				cluster := New(t, Options{})
				fill(cluster, "Cursor.All")
				opts := cluster.Client()
				ctx := limited(t, opts, end, deadline)
				n := 0
				cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
					if c.Name == "getMore" {
						n++
					}
					if slices.Contains(unanswered, c.Name) && (c.Name != "getMore" || n > 1) {
						time.Sleep(5 * time.Minute)
					}
					return run()
				})
				coll := connect(t, opts).Database("db").Collection("c")
				cursor, err := coll.Find(ctx, bson.D{}, options.Find().SetBatchSize(2))
				require.NoError(t, err)
				start := time.Now()
				var docs []bson.Raw
				err = cursor.All(ctx, &docs)
				assert.True(t, mongo.IsTimeout(err), err)
				assert.Len(t, docs, 4, "what was read before")
				assert.LessOrEqual(t, time.Since(start), deadline+cleanUp+time.Millisecond)
				time.Sleep(10 * time.Minute)
			})
		}
	}
}

// TestOutage is about a stream whose servers are away for longer than a server is searched, and then reject everything for a while: it goes
// on.
func TestOutage(t *testing.T) {
	for _, option := range []string{"", "adaptiveThrottling=true"} {
		t.Run(option, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { expectOutage(t, option) }) })
	}
}

func expectOutage(t *testing.T, option string) {
	cluster := New(t, Options{})
	client := connect(t, cluster.Client("serverSelectionTimeoutMS=2000", option))
	coll := client.Database("db").Collection("c")
	stream, err := coll.Watch(context.Background(), mongo.Pipeline{})
	require.NoError(t, err)
	cluster.SetLink(Refusing)
	cluster.Reset()
	for range 5 {
		assert.False(t, stream.Next(context.Background()))
		assert.ErrorContains(t, stream.Err(), "server selection")
		require.NotZero(t, stream.ID())
	}
	cluster.SetLink(Up)
	cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
		if application(c.Name) {
			return RequestRate.Reply()
		}
		return run()
	})
	for range 5 {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		assert.False(t, stream.Next(ctx))
		cancel()
		require.NotZero(t, stream.ID(), stream.Err())
	}
	cluster.Intercept(nil)
	_, err = coll.InsertOne(context.Background(), id(1))
	require.NoError(t, err)
	assert.True(t, stream.Next(context.Background()), stream.Err())
	require.NoError(t, stream.Close(context.Background()))
}

// TestDisconnectFromNoServer is about how long Disconnect takes if no server answers, and the context has no deadline: it tries to end the
// sessions, as long as the client's Timeout or 10 seconds.
func TestDisconnectFromNoServer(t *testing.T) {
	for uri, limit := range map[string]time.Duration{"": 10 * time.Second, "timeoutMS=2000": 2 * time.Second, "connectTimeoutMS=0": 10 * time.Second} {
		for _, link := range []Link{Refusing, Silent} {
			for _, waits := range []bool{false, true} {
				t.Run(fmt.Sprint(link, uri, waits), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { expectDisconnect(t, uri, link, waits, limit) })
				})
			}
		}
	}
}

// expectDisconnect disconnects a client with two sessions, one of which may be that of an insert without a reply.
func expectDisconnect(t *testing.T, uri string, link Link, waits bool, limit time.Duration) {
	cluster := New(t, Options{})
	var ended atomic.Int32
	opts := cluster.Client(uri).SetMonitor(&driverevent.CommandMonitor{Started: func(_ context.Context, e *driverevent.CommandStartedEvent) {
		if e.CommandName == "endSessions" {
			ended.Add(1)
		}
	}})
	client, err := mongo.Connect(opts)
	require.NoError(t, err)
	sessions := make([]*mongo.Session, 2)
	for i := range sessions {
		sessions[i], err = client.StartSession()
		require.NoError(t, err)
		require.NoError(t, client.Ping(mongo.NewSessionContext(context.Background(), sessions[i]), nil))
	}
	for _, session := range sessions {
		session.EndSession(context.Background())
	}
	cluster.SetLink(link)
	if link == Refusing {
		cluster.Reset()
	}
	time.Sleep(time.Second)
	if waits {
		go func() { _, _ = client.Database("db").Collection("c").InsertOne(context.Background(), bson.D{}) }()
		synctest.Wait()
	}
	start := time.Now()
	_ = client.Disconnect(context.Background())
	took := time.Since(start)
	if link == Refusing {
		assert.LessOrEqual(t, took, 100*time.Millisecond)
	} else {
		assert.InDelta(t, limit, took, float64(100*time.Millisecond))
	}
	if link == Silent && !waits { // otherwise there is no connection for it
		assert.EqualValues(t, 1, ended.Load())
	}
	cluster.SetLink(Up)
}

// TestUnknownCursors is about replies that open a cursor of which nobody learns: it is closed, and its connection given back.
func TestUnknownCursors(t *testing.T) {
	concern := func(c Command, reply bson.Raw) bson.Raw { return WithConcern(c, reply, 64) }
	lacking := func(_ Command, reply bson.Raw) bson.Raw { return bsondoc.Rebuild(reply, []string{"ok"}, nil) }
	same := func(_ Command, reply bson.Raw) bson.Raw { return reply }
	for _, call := range []string{"Collection.Find", "Collection.Aggregate", "Collection.Watch", "Database.RunCommandCursor",
		"Collection.CountDocuments"} {
		counts := call == "Collection.CountDocuments"
		for how, change := range map[string]func(Command, bson.Raw) bson.Raw{"concern": concern, "no ok": lacking, "count": same} {
			if counts != (how == "count") {
				continue
			}
			for _, topology := range []string{"loadbalanced:2", "replicaset:1"} {
				virtually(t, fmt.Sprint(call, how, topology), func(t *testing.T) {
					cluster := New(t, Options{Topology: topology})
					fill(cluster, "")
					opts := cluster.Client("maxPoolSize=1")
					n := out(opts)
					coll := connect(t, opts).Database("db").Collection("c")
					cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
						switch {
						case c.Name == "find" || c.Name == "aggregate":
							if counts {
								cluster.mu.Lock()
								cluster.lastCursor++
								left := &cursor{id: cluster.lastCursor, stays: true}
								cluster.cursors[left.id] = left
								cluster.mu.Unlock()
								return bsondoc.With(run(), bsondoc.D("cursor", bsondoc.D("id", left.id, "ns", "db.c", "firstBatch",
									bson.A{bsondoc.D("n", 10)}))...)
							}
							return change(c, run())
						default:
							return run()
						}
					})
					err := waitingCalls()[call](t, context.Background(), coll.Database().Client(), coll).call(context.Background())
					assert.Equal(t, counts, err == nil, err)
					assert.Zero(t, cluster.Cursors())
					assert.Zero(t, n.Load())
				})
			}
		}
	}
}

// TestMalformedHello is about a pool's connection whose hello has a field of another type, after which nothing is known of its server.
func TestMalformedHello(t *testing.T) {
	for _, field := range []string{"maxWireVersion", "logicalSessionTimeoutMinutes", "lastWrite"} {
		virtually(t, field, func(t *testing.T) {
			cluster := New(t, Options{Topology: "replicaset:1"})
			fill(cluster, "")
			client := connect(t, cluster.Client("serverSelectionTimeoutMS=3000"))
			time.Sleep(time.Second)
			cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
				reply := run()
				if _, err := c.Body.LookupErr("topologyVersion"); !application(c.Name) && c.Name != "killCursors" && err != nil {
					return bsondoc.With(reply, bson.E{Key: field, Value: "wrong"})
				}
				return reply
			})
			coll := client.Database("db").Collection("c")
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			cursor, err := coll.Find(ctx, bson.D{}, options.Find().SetBatchSize(2).SetComment("c"))
			if err == nil {
				err = cursor.All(ctx, &[]bson.Raw{})
			}
			require.ErrorContains(t, err, "malformed hello")
			for _, label := range []string{"SystemOverloadedError", "RetryableError", "NetworkError"} {
				var labelled mongo.LabeledError
				assert.False(t, errors.As(err, &labelled) && labelled.HasErrorLabel(label), "%s: %v", label, err)
			}
		})
	}
}

// TestGracefulDisconnect is about a write that is in a backoff when the client is disconnected, or in its first attempt, which is then
// rejected: a Disconnect with a deadline waits for it.
func TestGracefulDisconnect(t *testing.T) {
	for name, slow := range map[string]time.Duration{"in a backoff": 0, "in its first attempt": 50 * time.Millisecond} {
		virtually(t, name, func(t *testing.T) { expectGraceful(t, slow) })
	}
}

// TestEndOfSessions is about a Disconnect whose time an operation uses up that gets no reply: the sessions are ended nevertheless, in time.
func TestEndOfSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := New(t, Options{})
		client, err := mongo.Connect(cluster.Client())
		require.NoError(t, err)
		require.NoError(t, client.Ping(context.Background(), nil))
		go func() { _, _ = client.Database("db").Collection("c").InsertOne(context.Background(), id(1)) }()
		synctest.Wait()
		held := held(cluster, func(c Command) bool { return c.Name == "insert" })
		go func() { _, _ = client.Database("db").Collection("c").InsertOne(context.Background(), id(2)) }()
		go func() { _ = client.Ping(context.Background(), nil) }()
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		start := time.Now()
		_ = client.Disconnect(ctx)
		assert.LessOrEqual(t, time.Since(start), 5*time.Second+10*time.Millisecond)
		assert.Equal(t, 1, cluster.Count("endSessions"))
		held()
	})
}

// TestClosingWhileDisconnecting is about a killCursors that waits for a connection when the client is disconnected: it is sent.
func TestClosingWhileDisconnecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := New(t, Options{})
		fill(cluster, "")
		client, err := mongo.Connect(cluster.Client("maxPoolSize=1"))
		require.NoError(t, err)
		coll := client.Database("db").Collection("c")
		cursor, err := coll.Find(context.Background(), bson.D{}, options.Find().SetBatchSize(2))
		require.NoError(t, err)
		free := held(cluster, func(c Command) bool { return c.Name == "insert" })
		time.AfterFunc(time.Second, free)
		go func() { _, _ = coll.InsertOne(context.Background(), id(11)) }()
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- cursor.Close(context.Background()) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = client.Disconnect(ctx)
		assert.NoError(t, <-closed)
		assert.Zero(t, cluster.Cursors())
	})
}

func expectGraceful(t *testing.T, slow time.Duration) {
	cluster := New(t, Options{})
	client, err := mongo.Connect(cluster.Client())
	require.NoError(t, err)
	coll := client.Database("db").Collection("c")
	require.NoError(t, client.Ping(context.Background(), nil))
	rejected := 0
	cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
		if c.Name == "insert" && rejected < 2 {
			rejected++
			time.Sleep(slow)
			return RequestRate.Reply()
		}
		return run()
	})
	result := make(chan error, 1)
	go func() {
		_, err := coll.InsertOne(context.Background(), id(1))
		result <- err
	}()
	time.Sleep(2 * time.Millisecond)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	go func() {
		time.Sleep(time.Microsecond)
		_, err := coll.InsertOne(context.Background(), id(2))
		assert.ErrorIs(t, err, mongo.ErrClientDisconnected, "no operation begins any more")
	}()
	require.NoError(t, client.Disconnect(ctx))
	assert.NoError(t, <-result, "Disconnect waits for a backoff")
	assert.NotNil(t, cluster.Document("db.c", 1))
	assert.Nil(t, cluster.Document("db.c", 2))
	_, err = coll.InsertOne(context.Background(), id(3))
	assert.True(t, errors.Is(err, mongo.ErrClientDisconnected))
}
