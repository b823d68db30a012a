package virtual

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
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
)

// needsFork skips a test with upstream's driver.
func needsFork(t *testing.T) {
	t.Helper()
	if _, fork := reflect.TypeFor[*options.ClientOptions]().MethodByName("SetAdaptiveThrottling"); !fork {
		t.Skip("upstream's driver, in which iterators end with the first error, and who waits is not woken")
	}
}

// waiting is a call that is made to wait, and what it has opened before.
type waiting struct {
	call  func(ctx context.Context) error
	id    func() int64                    // of what it iterates, or nil
	close func(ctx context.Context) error // or nil
	// opens is whether it opens a cursor that only its reply tells of.
	opens bool
	// ends is whether it ends a transaction, for which a graceful Disconnect waits wherever it is.
	ends bool
	// rest reads what the iterator still has, and returns the first error.
	rest func(ctx context.Context) ([]int64, error)
	seen func() []int64 // what the call has read
}

type opener func(t *testing.T, client *mongo.Client, coll *mongo.Collection) waiting

// once is a method that leaves nothing open.
func once(call func(ctx context.Context, client *mongo.Client, coll *mongo.Collection) error) opener {
	return func(_ *testing.T, client *mongo.Client, coll *mongo.Collection) waiting {
		return waiting{call: func(ctx context.Context) error { return call(ctx, client, coll) }}
	}
}

// documents is how many documents there are, which the iterators below read in batches of two.
const documents = 7

func batches(t *testing.T, coll *mongo.Collection) *mongo.Cursor {
	cursor, err := coll.Find(context.Background(), bson.D{}, options.Find().SetBatchSize(2))
	require.NoError(t, err)
	return cursor
}

// iterating is a method of a cursor or a change stream that is at its second batch.
func iterating(try bool, open func(*testing.T, *mongo.Client, *mongo.Collection) iterator) opener {
	return func(t *testing.T, client *mongo.Client, coll *mongo.Collection) waiting {
		it := open(t, client, coll)
		var read []int64
		next := it.Next
		if try {
			next = it.TryNext
		}
		step := func(ctx context.Context) bool {
			if !next(ctx) {
				return false
			}
			read = append(read, it.number())
			return true
		}
		for it.RemainingBatchLength() > 0 {
			require.True(t, step(context.Background()))
		}
		return waiting{
			call: func(ctx context.Context) error {
				for step(ctx) {
				}
				return it.Err()
			},
			id: it.ID, close: it.Close, seen: func() []int64 { return read },
			rest: func(ctx context.Context) ([]int64, error) {
				for len(read) < documents && step(ctx) {
				}
				return read, it.Err()
			},
		}
	}
}

type iterator interface {
	Next(context.Context) bool
	TryNext(context.Context) bool
	Err() error
	Close(context.Context) error
	ID() int64
	RemainingBatchLength() int
	number() int64
}

type cursorIterator struct{ *mongo.Cursor }

func (c cursorIterator) number() int64 { return c.Current.Lookup("_id").AsInt64() }

type streamIterator struct{ *mongo.ChangeStream }

func (s streamIterator) number() int64 { return s.Current.Lookup("documentKey", "_id").AsInt64() }

func ofCursor(t *testing.T, _ *mongo.Client, coll *mongo.Collection) iterator {
	return cursorIterator{batches(t, coll)}
}

func ofCommand(t *testing.T, _ *mongo.Client, coll *mongo.Collection) iterator {
	cursor, err := coll.Database().RunCommandCursor(context.Background(), bson.D{{Key: "find", Value: coll.Name()}, {Key: "batchSize", Value: 2}})
	require.NoError(t, err)
	cursor.SetBatchSize(2)
	return cursorIterator{cursor}
}

// ofStream is a stream whose first event has been read. The others come once the call is over.
func ofStream(t *testing.T, _ *mongo.Client, coll *mongo.Collection) iterator {
	stream, err := coll.Watch(context.Background(), mongo.Pipeline{}, options.ChangeStream().SetMaxAwaitTime(10*time.Millisecond))
	require.NoError(t, err)
	return streamIterator{stream}
}

func reading2(use func(context.Context, *mongo.Cursor) error) opener {
	return func(t *testing.T, _ *mongo.Client, coll *mongo.Collection) waiting {
		cursor := batches(t, coll)
		return waiting{call: func(ctx context.Context) error { return use(ctx, cursor) }, close: cursor.Close}
	}
}

func inTransaction(end func(context.Context, *mongo.Session, *mongo.Collection) error) opener {
	return func(t *testing.T, client *mongo.Client, coll *mongo.Collection) waiting {
		session, err := client.StartSession()
		require.NoError(t, err)
		require.NoError(t, session.StartTransaction())
		_, err = coll.InsertOne(mongo.NewSessionContext(context.Background(), session), bson.D{})
		require.NoError(t, err)
		return waiting{
			call:  func(ctx context.Context) error { return end(ctx, session, coll) },
			close: func(ctx context.Context) error { session.EndSession(ctx); return nil },
		}
	}
}

var (
	set1   = bson.D{{Key: "$set", Value: bson.D{{Key: "x", Value: 1}}}}
	index1 = mongo.IndexModel{Keys: bson.D{{Key: "x", Value: 1}}}
)

// waitingCalls are the methods that wait, by name.
var waitingCalls = map[string]opener{
	"Client.BulkWrite": once(func(ctx context.Context, c *mongo.Client, _ *mongo.Collection) error {
		_, err := c.BulkWrite(ctx, []mongo.ClientBulkWrite{{Database: "db", Collection: "c",
			Model: mongo.NewClientInsertOneModel().SetDocument(bson.D{})}})
		return err
	}),
	"Client.ListDatabaseNames": once(func(ctx context.Context, c *mongo.Client, _ *mongo.Collection) error {
		_, err := c.ListDatabaseNames(ctx, bson.D{})
		return err
	}),
	"Client.Ping": once(func(ctx context.Context, c *mongo.Client, _ *mongo.Collection) error { return c.Ping(ctx, nil) }),
	"Client.Watch": func(_ *testing.T, c *mongo.Client, _ *mongo.Collection) waiting {
		return waiting{opens: true, call: func(ctx context.Context) error {
			stream, err := c.Watch(ctx, mongo.Pipeline{})
			if err == nil {
				err = stream.Close(ctx)
			}
			return err
		}}
	},
	"Collection.Aggregate": once(func(ctx context.Context, _ *mongo.Client, c *mongo.Collection) error {
		_, err := c.Aggregate(ctx, mongo.Pipeline{})
		return err
	}),
	"Collection.BulkWrite": once(func(ctx context.Context, _ *mongo.Client, c *mongo.Collection) error {
		_, err := c.BulkWrite(ctx, []mongo.WriteModel{mongo.NewInsertOneModel().SetDocument(bson.D{}),
			mongo.NewDeleteManyModel().SetFilter(id(1))})
		return err
	}),
	"Collection.CountDocuments": once(func(ctx context.Context, _ *mongo.Client, c *mongo.Collection) error {
		_, err := c.CountDocuments(ctx, bson.D{})
		return err
	}),
	"Collection.DeleteMany": once(func(ctx context.Context, _ *mongo.Client, c *mongo.Collection) error {
		_, err := c.DeleteMany(ctx, id(1))
		return err
	}),
	"Collection.Distinct": once(func(ctx context.Context, _ *mongo.Client, c *mongo.Collection) error {
		return c.Distinct(ctx, "x", bson.D{}).Err()
	}),
	"Collection.Drop": once(func(ctx context.Context, _ *mongo.Client, c *mongo.Collection) error { return c.Drop(ctx) }),
	"Collection.EstimatedDocumentCount": once(func(ctx context.Context, _ *mongo.Client, c *mongo.Collection) error {
		_, err := c.EstimatedDocumentCount(ctx)
		return err
	}),
	"Collection.FindOne": once(func(ctx context.Context, _ *mongo.Client, c *mongo.Collection) error {
		return c.FindOne(ctx, bson.D{}).Err()
	}),
	"Collection.FindOneAndUpdate": once(func(ctx context.Context, _ *mongo.Client, c *mongo.Collection) error {
		return c.FindOneAndUpdate(ctx, id(1), set1).Err()
	}),
	"Collection.InsertMany": once(func(ctx context.Context, _ *mongo.Client, c *mongo.Collection) error {
		_, err := c.InsertMany(ctx, []any{bson.D{}, bson.D{}})
		return err
	}),
	"Collection.InsertOne": once(func(ctx context.Context, _ *mongo.Client, c *mongo.Collection) error {
		_, err := c.InsertOne(ctx, bson.D{})
		return err
	}),
	"Collection.UpdateMany": once(func(ctx context.Context, _ *mongo.Client, c *mongo.Collection) error {
		_, err := c.UpdateMany(ctx, bson.D{}, set1)
		return err
	}),
	"Collection.UpdateOne": once(func(ctx context.Context, _ *mongo.Client, c *mongo.Collection) error {
		_, err := c.UpdateOne(ctx, id(1), set1)
		return err
	}),
	"Database.CreateCollection": once(func(ctx context.Context, _ *mongo.Client, c *mongo.Collection) error {
		return c.Database().CreateCollection(ctx, "new")
	}),
	"Database.ListCollectionNames": once(func(ctx context.Context, _ *mongo.Client, c *mongo.Collection) error {
		_, err := c.Database().ListCollectionNames(ctx, bson.D{})
		return err
	}),
	"Database.ListCollectionSpecifications": once(func(ctx context.Context, _ *mongo.Client, c *mongo.Collection) error {
		_, err := c.Database().ListCollectionSpecifications(ctx, bson.D{})
		return err
	}),
	"Database.RunCommand": once(func(ctx context.Context, _ *mongo.Client, c *mongo.Collection) error {
		return c.Database().RunCommand(ctx, bson.D{{Key: "ping", Value: 1}}).Err()
	}),
	"IndexView.CreateOne": once(func(ctx context.Context, _ *mongo.Client, c *mongo.Collection) error {
		_, err := c.Indexes().CreateOne(ctx, index1)
		return err
	}),
	"IndexView.DropOne": once(func(ctx context.Context, _ *mongo.Client, c *mongo.Collection) error {
		return c.Indexes().DropOne(ctx, "x_1")
	}),
	"IndexView.ListSpecifications": once(func(ctx context.Context, _ *mongo.Client, c *mongo.Collection) error {
		_, err := c.Indexes().ListSpecifications(ctx)
		return err
	}),
	"SearchIndexView.DropOne": once(func(ctx context.Context, _ *mongo.Client, c *mongo.Collection) error {
		return c.SearchIndexes().DropOne(ctx, "x")
	}),
	"GridFSBucket.DownloadToStream": once(func(ctx context.Context, _ *mongo.Client, c *mongo.Collection) error {
		_, err := c.Database().GridFSBucket().DownloadToStream(ctx, 1, io.Discard)
		return err
	}),
	"GridFSBucket.Delete": once(func(ctx context.Context, _ *mongo.Client, c *mongo.Collection) error {
		return c.Database().GridFSBucket().Delete(ctx, 1)
	}),
	"GridFSBucket.UploadFromStream": once(func(ctx context.Context, _ *mongo.Client, c *mongo.Collection) error {
		_, err := c.Database().GridFSBucket().UploadFromStream(ctx, "x", strings.NewReader("x"))
		return err
	}),
	"Cursor.All":             reading2(func(ctx context.Context, c *mongo.Cursor) error { return c.All(ctx, &[]bson.Raw{}) }),
	"Cursor.Next":            iterating(false, ofCursor),
	"Cursor.TryNext":         iterating(true, ofCursor),
	"Cursor.Next, a command": iterating(false, ofCommand),
	"ChangeStream.Next":      iterating(false, ofStream),
	"Session.CommitTransaction": func(t *testing.T, client *mongo.Client, coll *mongo.Collection) waiting {
		w := inTransaction(func(ctx context.Context, s *mongo.Session, _ *mongo.Collection) error {
			return s.CommitTransaction(ctx)
		})(t, client, coll)
		w.ends = true
		return w
	},
	"a command of a transaction": inTransaction(func(ctx context.Context, s *mongo.Session, c *mongo.Collection) error {
		return c.FindOne(mongo.NewSessionContext(ctx, s), bson.D{}).Err()
	}),
	"Session.WithTransaction": once(func(ctx context.Context, client *mongo.Client, c *mongo.Collection) error {
		session, err := client.StartSession()
		if err != nil {
			return err
		}
		defer session.EndSession(context.Background())
		_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
			_, err := c.InsertOne(ctx, bson.D{})
			return nil, err
		})
		return err
	}),
}

// A place is where a call waits. It returns what lets it go on.
type place struct {
	name  string
	opts  []string
	begin func(c *Cluster, client *mongo.Client) (end func())
	// sent is whether a command was sent whose reply does not come.
	sent bool
	// rejected is whether the servers reject what is sent.
	rejected bool
}

// topologies are those in which a call waits there.
func (p place) topologies() []string {
	if p.sent || p.rejected {
		return []string{"replicaset:1", "loadbalanced:1"}
	}
	return []string{"replicaset:1"}
}

// application is a command that is neither a monitor's nor one that establishes a connection or ends something.
func application(name string) bool {
	return !slices.Contains([]string{"hello", "isMaster", "ismaster", "killCursors", "endSessions", "abortTransaction",
		"saslStart", "saslContinue"}, name)
}

// held lets commands wait that the function names.
func held(c *Cluster, waits func(Command) bool) func() {
	gone := make(chan struct{})
	c.Intercept(func(command Command, run func() bson.Raw) bson.Raw {
		if waits(command) {
			<-gone
		}
		return run()
	})
	return func() {
		c.Intercept(nil)
		close(gone)
	}
}

var places = []place{
	{name: "selection", begin: func(c *Cluster, _ *mongo.Client) func() {
		c.SetLink(Refusing)
		c.Reset()
		time.Sleep(time.Second)
		return func() { c.SetLink(Up) }
	}},
	{name: "queue", opts: []string{"maxPoolSize=1"}, begin: func(c *Cluster, client *mongo.Client) func() {
		end := held(c, func(command Command) bool {
			return command.Name == "distinct" && command.Body.Lookup("key").StringValue() == "held"
		})
		go func() { client.Database("db").Collection("c").Distinct(context.Background(), "held", bson.D{}) }()
		time.Sleep(100 * time.Millisecond)
		return end
	}},
	{name: "dial", opts: []string{"maxIdleTimeMS=1"}, begin: func(c *Cluster, _ *mongo.Client) func() {
		time.Sleep(time.Second) // what is idle is too old
		c.SetLink(Silent)
		return func() { c.SetLink(Up) }
	}},
	{name: "hello", opts: []string{"maxIdleTimeMS=1"}, begin: func(c *Cluster, _ *mongo.Client) func() {
		time.Sleep(time.Second)
		return held(c, func(command Command) bool {
			_, err := command.Body.LookupErr("topologyVersion")
			return !application(command.Name) && command.Name != "killCursors" && err != nil
		})
	}},
	{name: "reply", sent: true, begin: func(c *Cluster, _ *mongo.Client) func() {
		return held(c, func(command Command) bool { return application(command.Name) })
	}},
	{name: "backoff", rejected: true, opts: []string{"maxAdaptiveRetries=1000"}, begin: func(c *Cluster, _ *mongo.Client) func() {
		c.Intercept(func(command Command, run func() bson.Raw) bson.Raw {
			if application(command.Name) {
				return RequestRate.Reply()
			}
			return run()
		})
		return func() { c.Intercept(nil) }
	}},
	{name: "rejected beyond the retries", rejected: true, begin: func(c *Cluster, _ *mongo.Client) func() {
		c.Intercept(func(command Command, run func() bson.Raw) bson.Raw {
			if application(command.Name) {
				return RequestRate.Reply()
			}
			return run()
		})
		return func() { c.Intercept(nil) }
	}},
}

// The ends of a wait.
const (
	byDeadline   = "deadline"
	byTimeout    = "Timeout"
	byCancel     = "cancelled"
	byDisconnect = "Disconnect"
	byGraceful   = "Disconnect with a deadline"
)

const (
	until   = 3 * time.Second // when it ends
	cleanUp = 2 * time.Second // which the driver may take for what it cleans up
)

// TestWaits is about every method that waits, wherever it waits, and however that ends: it ends in time, its error tells the cause, and
// nothing stays behind; an iterator goes on behind what it had read.
func TestWaits(t *testing.T) {
	needsFork(t)
	for name, open := range waitingCalls {
		for _, at := range places {
			for _, topology := range at.topologies() {
				for _, end := range []string{byDeadline, byTimeout, byCancel, byDisconnect, byGraceful} {
					t.Run(strings.Join([]string{name, at.name, end, topology}, "/"), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { expectWait(t, open, at, end, topology) })
					})
				}
			}
		}
	}
}

func expectWait(t *testing.T, open opener, at place, end, topology string) {
	cluster := New(t, Options{Topology: topology})
	for i := range documents {
		cluster.Put("db.c", id(i))
	}
	var out atomic.Int32 // connections
	opts := cluster.Client(at.opts...).SetPoolMonitor(&driverevent.PoolMonitor{Event: func(e *driverevent.PoolEvent) {
		switch e.Type {
		case driverevent.ConnectionCheckedOut:
			out.Add(1)
		case driverevent.ConnectionCheckedIn:
			out.Add(-1)
		}
	}})
	if end == byTimeout {
		opts.SetTimeout(until)
	}
	client, err := mongo.Connect(opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	coll := client.Database("db").Collection("c")
	require.NoError(t, client.Ping(t.Context(), nil))
	w := open(t, client, coll)
	proceed := sync.OnceFunc(at.begin(cluster, client))
	t.Cleanup(proceed)

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if end == byDeadline {
		ctx, cancel = context.WithTimeout(ctx, until)
		defer cancel()
	}
	endless := time.AfterFunc(time.Minute, cancel)
	defer endless.Stop()
	start := time.Now()
	returned := make(chan error, 1)
	var took time.Duration
	go func() {
		err := w.call(ctx)
		took = time.Since(start)
		returned <- err
	}()
	time.Sleep(until - time.Since(start))
	var early bool // it has ended by itself: servers rejected it, or no reply was awaited
	select {
	case err = <-returned:
		early = true
	default:
	}
	disconnected := make(chan struct{})
	switch {
	case early:
	case end == byCancel:
		cancel()
	case end == byDisconnect, end == byGraceful:
		go func() {
			defer close(disconnected)
			leaving, stop := context.Background(), func() {}
			if end == byGraceful {
				leaving, stop = context.WithTimeout(leaving, 5*time.Second)
			}
			defer stop()
			_ = client.Disconnect(leaving)
		}()
	}
	if !early {
		err = <-returned
	}
	early = took < until
	what := fmt.Sprintf("after %v: %T %v", took, err, err)

	gone := !early && (end == byDisconnect || end == byGraceful)
	limit := until + cleanUp
	if gone && at.rejected && end == byGraceful {
		limit += 5 * time.Second // it waits for backoffs
	}
	if gone && (at.sent || w.ends) && end == byGraceful {
		limit += 5 * time.Second // it waits for connections
	}
	assert.LessOrEqual(t, took, limit+50*time.Millisecond, what)
	switch {
	case !early:
		expectCause(t, at, end, err, what)
	case at.rejected && err != nil:
		expectRejection(t, err, what)
	case err != nil:
		assert.NotErrorIs(t, err, context.Canceled, what)
	}
	proceed()
	if gone {
		<-disconnected
		return
	}
	expectRest(t, cluster, client, coll, w, at, strings.HasPrefix(topology, "load"), &out, what)
}

// expectCause checks that the error tells why the wait ended.
func expectCause(t *testing.T, at place, end string, err error, what string) {
	require.Error(t, err, what)
	switch end {
	case byDeadline, byTimeout:
		var failure mongo.ServerError
		givenUp := at.rejected && errors.As(err, &failure) && failure.HasErrorLabel("SystemOverloadedError")
		assert.True(t, mongo.IsTimeout(err) || givenUp, what)
		assert.NotErrorIs(t, err, context.Canceled, what)
	case byCancel:
		assert.ErrorIs(t, err, context.Canceled, what)
		assert.False(t, mongo.IsTimeout(err), what)
	case byDisconnect, byGraceful:
		assert.NotErrorIs(t, err, context.Canceled, what)
		assert.True(t, at.sent || errors.Is(err, mongo.ErrClientDisconnected), what)
	}
}

// expectRejection checks the error of a call that ended because servers rejected its commands.
func expectRejection(t *testing.T, err error, what string) {
	var labelled mongo.LabeledError
	assert.True(t, errors.As(err, &labelled) && labelled.HasErrorLabel("SystemOverloadedError"), what)
	assert.NotErrorIs(t, err, context.Canceled, what)
	assert.NotErrorIs(t, err, mongo.ErrClientDisconnected, what)
}

// expectRest checks that an iterator goes on, and that nothing stays behind.
func expectRest(
	t *testing.T, cluster *Cluster, client *mongo.Client, coll *mongo.Collection, w waiting, at place, balanced bool, out *atomic.Int32,
	what string,
) {
	time.Sleep(30 * time.Second) // the servers are known again
	if w.rest != nil {
		expectDocuments(t, cluster, coll, w, at, what)
	}
	if w.close != nil {
		assert.NoError(t, w.close(context.Background()), what)
	}
	// Of a cursor whose first reply is lost nobody knows. Behind a load balancer, a connection whose reply is lost must not be used for a
	// killCursors (load-balancers.md, "Behaviour With Cursors").
	if !at.sent || !w.opens && !balanced {
		assert.Zero(t, cluster.Cursors(), "cursors are open, %s", what)
	}
	time.Sleep(time.Second) // what is read after a timeout
	assert.Zero(t, out.Load(), "connections are out, %s", what)
	assert.Zero(t, client.NumberSessionsInProgress(), "sessions are out, %s", what)
}

func expectDocuments(t *testing.T, cluster *Cluster, coll *mongo.Collection, w waiting, at place, what string) {
	if len(w.seen()) == 0 { // a stream
		for i := range documents {
			_, err := coll.UpdateOne(context.Background(), id(i), set1)
			require.NoError(t, err)
		}
	}
	if w.id() == 0 && len(w.seen()) < documents {
		assert.True(t, at.sent, "the iterator has ended though nothing can have been lost, %s", what)
		return
	}
	read, err := w.rest(context.Background())
	require.NoError(t, err, what)
	want := []int64{0, 1, 2, 3, 4, 5, 6}
	assert.Equal(t, want, read, "what was read %s", cmp.Or(what, "at once"))
}
