package virtual

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/bsondoc"
)

// out counts connections that are checked out.
func out(opts *options.ClientOptions) *atomic.Int32 {
	var n atomic.Int32
	opts.SetPoolMonitor(&event.PoolMonitor{Event: func(e *event.PoolEvent) {
		switch e.Type {
		case event.ConnectionCheckedOut:
			n.Add(1)
		case event.ConnectionCheckedIn:
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
			assert.Zero(t, cluster.Cursors(""))
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
				assert.Equal(t, answered, cluster.Cursors("")+transactions == 0)
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

// useSessions leaves so many sessions in the client's pool, which a Disconnect ends.
func useSessions(t *testing.T, client *mongo.Client, n int) {
	t.Helper()
	for range n {
		session, err := client.StartSession()
		require.NoError(t, err)
		require.NoError(t, client.Ping(mongo.NewSessionContext(context.Background(), session), nil))
		defer session.EndSession(context.Background())
	}
}

// TestDisconnectFromNoServer is about how long Disconnect takes if no server answers, and the context has no deadline: it tries to end the
// sessions, as long as the client's Timeout or 10 seconds, also if there is an insert without a reply.
func TestDisconnectFromNoServer(t *testing.T) {
	for uri, limit := range map[string]time.Duration{"": 10 * time.Second, "timeoutMS=2000": 2 * time.Second, "connectTimeoutMS=0": 10 * time.Second} {
		for _, link := range []Link{Refusing, Silent} {
			for _, waits := range []bool{false, true} {
				virtually(t, fmt.Sprint(link, uri, waits), func(t *testing.T) {
					cluster := New(t, Options{})
					var ended atomic.Int32
					client := connect(t, cluster.Client(uri).SetMonitor(&event.CommandMonitor{
						Started: func(_ context.Context, e *event.CommandStartedEvent) {
							if e.CommandName == "endSessions" {
								ended.Add(1)
							}
						},
					}))
					useSessions(t, client, 2)
					cluster.SetLink(link)
					want := limit
					if link == Refusing {
						cluster.Reset()
						want = 0
					}
					time.Sleep(time.Second)
					if waits {
						go func() { _, _ = client.Database("db").Collection("c").InsertOne(context.Background(), bson.D{}) }()
						synctest.Wait()
					}
					start := time.Now()
					_ = client.Disconnect(context.Background())
					assert.InDelta(t, want, time.Since(start), float64(100*time.Millisecond))
					if link == Silent && !waits { // otherwise there is no connection for it
						assert.EqualValues(t, 1, ended.Load())
					}
					cluster.SetLink(Up)
				})
			}
		}
	}
}

// TestUnknownCursors is about replies that open a cursor of which nobody learns: it is closed, and its connection given back.
func TestUnknownCursors(t *testing.T) {
	open := []string{"Collection.Find", "Collection.Aggregate", "Collection.Watch", "Database.RunCommandCursor"}
	for how, tt := range map[string]struct {
		calls  []string
		change func(cluster *Cluster, c Command, reply bson.Raw) bson.Raw
	}{
		"concern": {open, func(_ *Cluster, c Command, reply bson.Raw) bson.Raw { return WithConcern(c, reply, 64) }},
		"no ok": {open, func(_ *Cluster, _ Command, reply bson.Raw) bson.Raw {
			return bsondoc.Rebuild(reply, []string{"ok"}, nil)
		}},
		"count": {[]string{"Collection.CountDocuments"}, func(cluster *Cluster, _ Command, reply bson.Raw) bson.Raw {
			cluster.mu.Lock()
			defer cluster.mu.Unlock()
			cluster.lastCursor++
			cluster.cursors[cluster.lastCursor] = &cursor{id: cluster.lastCursor, stays: true}
			return bsondoc.With(reply, bsondoc.D("cursor", bsondoc.D("id", cluster.lastCursor, "ns", "db.c", "firstBatch",
				bson.A{bsondoc.D("n", 10)}))...)
		}},
	} {
		for _, call := range tt.calls {
			for _, topology := range []string{"loadbalanced:2", "replicaset:1"} {
				virtually(t, fmt.Sprint(call, how, topology), func(t *testing.T) {
					cluster := New(t, Options{Topology: topology})
					fill(cluster, "")
					opts := cluster.Client(oneConnection)
					n := out(opts)
					coll := connect(t, opts).Database("db").Collection("c")
					cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
						if c.Name == "find" || c.Name == "aggregate" {
							return tt.change(cluster, c, run())
						}
						return run()
					})
					err := waitingCalls()[call](t, context.Background(), coll.Database().Client(), coll).call(context.Background())
					assert.Equal(t, how == "count", err == nil, err)
					assert.Zero(t, cluster.Cursors(""))
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
				if establishing(c) {
					return bsondoc.With(run(), bson.E{Key: field, Value: "wrong"})
				}
				return run()
			})
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			err := client.Database("db").Collection("c").FindOne(ctx, bson.D{}).Err()
			require.ErrorContains(t, err, "malformed hello")
			for _, label := range []string{"SystemOverloadedError", "RetryableError", "NetworkError"} {
				assert.False(t, hasLabel(err, label), "%s: %v", label, err)
			}
		})
	}
}

// TestGracefulDisconnect is about a Disconnect with a deadline, and what is under way then: it waits for that, no other operation begins,
// and the sessions are ended, even if an insert gets no reply.
func TestGracefulDisconnect(t *testing.T) {
	for name, tt := range map[string]struct {
		rejected int           // how often the insert is
		slow     time.Duration // what each attempt of the insert takes
		closes   bool          // whether a killCursors waits for the connection of the insert
	}{
		"in a backoff":                       {rejected: 2},
		"in its first attempt":               {rejected: 2, slow: 50 * time.Millisecond},
		"a killCursors without a connection": {slow: time.Second, closes: true},
		"without a reply":                    {slow: time.Minute},
	} {
		virtually(t, name, func(t *testing.T) {
			cluster := New(t, Options{})
			fill(cluster, "")
			opts := cluster.Client()
			if tt.closes {
				opts.SetMaxPoolSize(1)
			}
			client := connect(t, opts)
			useSessions(t, client, 3)
			coll := client.Database("db").Collection("c")
			insert := func(n int) error { return errorOf(coll.InsertOne(context.Background(), id(n))) }
			cursor := batches(t, coll)
			cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
				if c.Name != "insert" {
					return run()
				}
				time.Sleep(tt.slow)
				if tt.rejected--; tt.rejected >= 0 {
					return RequestRate.Reply()
				}
				return run()
			})
			inserted, closed := make(chan error, 1), make(chan error, 1)
			go func() { inserted <- insert(11) }()
			time.Sleep(2 * time.Millisecond)
			if tt.closes {
				go func() { closed <- cursor.Close(context.Background()) }()
				synctest.Wait()
			}
			time.AfterFunc(time.Microsecond, func() {
				assert.ErrorIs(t, insert(12), mongo.ErrClientDisconnected, "no operation begins any more")
			})
			ctx, cancel := context.WithTimeout(context.Background(), graceful)
			defer cancel()
			start := time.Now()
			_ = client.Disconnect(ctx)
			assert.LessOrEqual(t, time.Since(start), graceful+10*time.Millisecond)
			assert.Equal(t, 1, cluster.Count("endSessions"))
			answered := tt.slow < graceful
			assert.Equal(t, answered, <-inserted == nil, "Disconnect waits for it")
			assert.Equal(t, answered, cluster.Document("db.c", 11) != nil)
			if tt.closes {
				assert.NoError(t, <-closed)
				assert.Zero(t, cluster.Cursors(""))
			}
			assert.ErrorIs(t, insert(13), mongo.ErrClientDisconnected)
			time.Sleep(time.Minute)
			assert.Nil(t, cluster.Document("db.c", 12))
		})
	}
}

// errAny is any error.
var errAny = errors.New("any error")

var errSource = errors.New("the source of the file fails")

// promise is what a call that closes or ends something does after a failure. ClientEncryption.Close is the Disconnect of a client.
type promise struct {
	name    string
	fails   []string // commands, whose connections are closed, until the call has returned
	ends    func(t *testing.T, coll *mongo.Collection) func() error
	during  []error // what the calls return while the commands fail: nil, an error, or errAny
	left    remains // then
	after   []error // what further calls return
	settled remains // then
}

// remains are what there is on the servers.
type remains struct {
	cursors, transactions int
	files, chunks         int64
}

func (s remains) String() string {
	return fmt.Sprintf("%d cursors, %d transactions, %d files, %d chunks", s.cursors, s.transactions, s.files, s.chunks)
}

func remainsOf(t *testing.T, cluster *Cluster) (s remains) {
	t.Helper()
	s.cursors = cluster.Cursors("")
	s.transactions, _ = cluster.Transactions()
	database := connect(t, cluster.Client()).Database("db")
	for name, n := range map[string]*int64{"fs.files": &s.files, "fs.chunks": &s.chunks} {
		var err error
		*n, err = database.Collection(name).CountDocuments(context.Background(), bson.D{})
		require.NoError(t, err)
	}
	return s
}

// upload opens an upload stream of chunks of half a buffer.
func upload(t *testing.T, coll *mongo.Collection) *mongo.GridFSUploadStream {
	t.Helper()
	stream, err := coll.Database().GridFSBucket().OpenUploadStreamWithID(context.Background(), 1, "u",
		options.GridFSUpload().SetChunkSizeBytes(bigChunk))
	require.NoError(t, err)
	return stream
}

// cutShort is the defer of a function whose Write fails.
func cutShort(t *testing.T, coll *mongo.Collection) func() error {
	stream := upload(t, coll)
	var failed error
	rest := make([]byte, uploadBuffer+1)
	return func() error {
		if failed == nil {
			var n int
			if n, failed = stream.Write(rest); failed == nil {
				return errors.New("Write has not failed")
			}
			rest = rest[n:]
		}
		if err := stream.Close(); !errors.Is(err, failed) && fmt.Sprint(err) != failed.Error() {
			return fmt.Errorf("Close returns %v instead of %w", err, failed)
		}
		return errAny
	}
}

var promises = []promise{
	{name: "Cursor.Close", fails: []string{"killCursors"}, during: []error{errAny, errAny}, left: remains{cursors: 1},
		after: []error{nil, nil}, ends: closingOf(batches)},
	{name: "ChangeStream.Close", fails: []string{"killCursors"}, during: []error{errAny, errAny}, left: remains{cursors: 1},
		after: []error{nil, nil}, ends: closingOf(watch)},
	{name: "GridFSDownloadStream.Close", fails: []string{"killCursors"}, during: []error{errAny, errAny},
		left: remains{cursors: 1, files: 1, chunks: 110}, after: []error{nil, mongo.ErrStreamClosed}, settled: remains{files: 1, chunks: 110},
		ends: func(t *testing.T, coll *mongo.Collection) func() error {
			stream, err := coll.Database().GridFSBucket().OpenDownloadStream(context.Background(), 1)
			require.NoError(t, err)
			return stream.Close
		}},
	{name: "GridFSUploadStream.Close", fails: []string{"insert"}, during: []error{errAny, errAny},
		after: []error{nil, mongo.ErrStreamClosed}, settled: remains{files: 1, chunks: 1},
		ends: func(t *testing.T, coll *mongo.Collection) func() error {
			stream := upload(t, coll)
			_, err := stream.Write([]byte("a file"))
			require.NoError(t, err)
			return stream.Close
		}},
	{name: "GridFSUploadStream.Close, after a Write that failed", fails: []string{"insert"}, during: []error{errAny, errAny},
		after: []error{errAny, errAny}, ends: cutShort},
	{name: "GridFSUploadStream.Abort", fails: []string{"delete"}, during: []error{errAny, errAny}, left: remains{chunks: 2},
		after: []error{nil, mongo.ErrStreamClosed},
		ends: func(t *testing.T, coll *mongo.Collection) func() error {
			stream := upload(t, coll)
			_, err := stream.Write(make([]byte, uploadBuffer))
			require.NoError(t, err)
			return stream.Abort
		}},
	{name: "GridFSBucket.UploadFromStream", fails: []string{"insert"}, during: []error{errAny}, after: []error{nil},
		settled: remains{files: 1, chunks: 1}, ends: uploadingFrom(func() io.Reader { return strings.NewReader("a file") })},
	{name: "GridFSBucket.UploadFromStream, whose source fails", during: []error{errSource}, after: []error{errSource},
		ends: uploadingFrom(func() io.Reader { return io.MultiReader(strings.NewReader("a"), iotest.ErrReader(errSource)) })},
	{name: "Session.AbortTransaction", fails: []string{"abortTransaction"}, during: []error{nil}, left: remains{transactions: 1},
		after: []error{errAny}, settled: remains{transactions: 1}, ends: inTransactionOf((*mongo.Session).AbortTransaction)},
	{name: "Session.CommitTransaction", fails: []string{"commitTransaction"}, during: []error{errAny}, left: remains{transactions: 1},
		after: []error{nil, nil}, ends: inTransactionOf((*mongo.Session).CommitTransaction)},
	{name: "Session.EndSession", fails: []string{"abortTransaction"}, during: []error{nil}, left: remains{transactions: 1},
		after: []error{nil}, settled: remains{transactions: 1},
		ends: inTransactionOf(func(s *mongo.Session, ctx context.Context) error { s.EndSession(ctx); return nil })},
	{name: "Client.Disconnect", fails: []string{"endSessions"}, during: []error{nil, mongo.ErrClientDisconnected},
		after: []error{mongo.ErrClientDisconnected},
		ends: func(t *testing.T, coll *mongo.Collection) func() error {
			client := coll.Database().Client()
			useSessions(t, client, 1)
			return func() error { return client.Disconnect(context.Background()) }
		}},
}

func closingOf[T closer](open func(*testing.T, *mongo.Collection) T) func(*testing.T, *mongo.Collection) func() error {
	return func(t *testing.T, coll *mongo.Collection) func() error {
		opened := open(t, coll)
		return func() error { return opened.Close(context.Background()) }
	}
}

func uploadingFrom(source func() io.Reader) func(*testing.T, *mongo.Collection) func() error {
	return func(_ *testing.T, coll *mongo.Collection) func() error {
		return func() error {
			return errorOf(coll.Database().GridFSBucket().UploadFromStream(context.Background(), "u", source()))
		}
	}
}

// inTransactionOf ends a session with a transaction that has begun.
func inTransactionOf(end func(*mongo.Session, context.Context) error) func(*testing.T, *mongo.Collection) func() error {
	return func(t *testing.T, coll *mongo.Collection) func() error {
		session := transacting(t, coll)
		return func() error { return end(session, context.Background()) }
	}
}

// TestCloseAfterFailure is about what each call that closes or ends something promises if it fails, or what came before it has failed.
func TestCloseAfterFailure(t *testing.T) {
	for _, p := range promises {
		virtually(t, p.name, func(t *testing.T) {
			cluster := New(t, Options{Topology: "replicaset:1"})
			if strings.Contains(p.name, "Download") {
				fill(cluster, p.name)
			}
			fill(cluster, "")
			client := connect(t, cluster.Client())
			end := p.ends(t, client.Database("db").Collection("c"))
			expect := func(want []error, when string) {
				for _, one := range want {
					err := end()
					assert.Equal(t, one != nil, err != nil, "%s: %v", when, err)
					if one != errAny {
						assert.ErrorIs(t, err, one, when)
					}
				}
			}
			cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
				if slices.Contains(p.fails, c.Name) {
					return nil
				}
				return run()
			})
			expect(p.during, "while commands fail")
			cluster.Intercept(nil)
			assert.Equal(t, p.left, remainsOf(t, cluster))
			expect(p.after, "afterwards")
			assert.Equal(t, p.settled, remainsOf(t, cluster))
		})
	}
}
