package virtual

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"math"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// waiting is a call that is made to wait, and what it has opened before.
type waiting struct {
	call  func(ctx context.Context) error
	close func(ctx context.Context) error // or nil
	bound bool                            // whether the call has the context with which something was opened
	mute  bool                            // whether the call does not tell of errors
	// commits is whether the call commits a transaction by WithTransaction, which its context does not end: docs/overload/deadlines.md.
	commits     bool
	disconnects bool      // whether the call is a Disconnect
	follows     *sequence // what an iterator reads, or nil
}

// opener prepares a call. The context is that of the call.
type opener func(t *testing.T, ctx context.Context, client *mongo.Client, coll *mongo.Collection) waiting

// method is a method of what its name says, with these arguments behind the context.
func method(name string, arguments []any) opener {
	return func(_ *testing.T, _ context.Context, client *mongo.Client, coll *mongo.Collection) waiting {
		of, name, _ := strings.Cut(name, ".")
		receiver := map[string]any{"Client": client, "Database": coll.Database(), "Collection": coll, "IndexView": coll.Indexes(),
			"SearchIndexView": coll.SearchIndexes(), "GridFSBucket": coll.Database().GridFSBucket()}[of]
		called := reflect.ValueOf(receiver).MethodByName(name)
		end := func(context.Context) error { return nil }
		return waiting{
			call: func(ctx context.Context) error {
				in := []reflect.Value{reflect.ValueOf(ctx)}
				for i, argument := range arguments {
					if argument == nil {
						in = append(in, reflect.Zero(called.Type().In(i+1)))
						continue
					}
					in = append(in, reflect.ValueOf(argument))
				}
				results := called.Call(in)
				if err, _ := results[len(results)-1].Interface().(error); err != nil {
					return err
				}
				switch result := results[0].Interface().(type) {
				case closer: // a cursor or a stream, which stays open
					end = result.Close
				case interface{ Abort() error }:
					return result.Abort()
				case io.Closer:
					return result.Close()
				case interface{ Err() error }:
					return result.Err()
				}
				return nil
			},
			close: func(ctx context.Context) error { return end(ctx) },
		}
	}
}

// once is a call that leaves nothing open.
func once(commits bool, call func(ctx context.Context, client *mongo.Client, coll *mongo.Collection) error) opener {
	return func(_ *testing.T, _ context.Context, client *mongo.Client, coll *mongo.Collection) waiting {
		return waiting{call: func(ctx context.Context) error { return call(ctx, client, coll) }, commits: commits}
	}
}

type closer interface{ Close(context.Context) error }

// errorOf returns the error of a call with a result.
func errorOf[T any](_ T, err error) error { return err }

// documents are the numbers of the documents, which the iterators below read in batches of two.
var documents = []int64{0, 1, 2, 3, 4, 5, 6}

var inTwos = options.Find().SetBatchSize(2)

func batches(t *testing.T, coll *mongo.Collection) *mongo.Cursor {
	cursor, err := coll.Find(context.Background(), bson.D{}, inTwos)
	require.NoError(t, err)
	return cursor
}

// iterator is a cursor or a stream.
type iterator interface {
	Next(context.Context) bool
	TryNext(context.Context) bool
	Err() error
	Close(context.Context) error
	ID() int64
	RemainingBatchLength() int
	number() int64
}

// sequence is what an iterator can read, and has read.
type sequence struct {
	iterator
	next      func(context.Context) bool
	all, read []int64
}

// readOn reads until there is nothing, or so much has been read.
func (s *sequence) readOn(ctx context.Context, most int) error {
	for len(s.read) < most && s.next(ctx) {
		s.read = append(s.read, s.number())
	}
	return s.Err()
}

// iterating is a method of an iterator that is at its second batch.
func iterating(try bool, open func(context.Context, *testing.T, *mongo.Collection) (it iterator, all []int64)) opener {
	return func(t *testing.T, ctx context.Context, _ *mongo.Client, coll *mongo.Collection) waiting {
		it, all := open(ctx, t, coll)
		s := &sequence{iterator: it, next: it.Next, all: all}
		if try {
			s.next = it.TryNext
		}
		require.NoError(t, s.readOn(context.Background(), it.RemainingBatchLength()))
		_, bound := it.(*downloadIterator)
		return waiting{call: func(ctx context.Context) error { return s.readOn(ctx, math.MaxInt) }, close: it.Close, bound: bound,
			follows: s}
	}
}

type cursorIterator struct{ *mongo.Cursor }

func (c cursorIterator) number() int64 { return c.Current.Lookup("_id").AsInt64() }

type streamIterator struct{ *mongo.ChangeStream }

func (s streamIterator) number() int64 { return s.Current.Lookup("documentKey", "_id").AsInt64() }

// downloadIterator reads bytes of a file.
type downloadIterator struct {
	*mongo.GridFSDownloadStream
	last [1]byte
	err  error
}

func (d *downloadIterator) Next(context.Context) bool {
	var n int
	n, d.err = d.Read(d.last[:])
	return n > 0
}

func (d *downloadIterator) TryNext(ctx context.Context) bool { return d.Next(ctx) }
func (d *downloadIterator) Close(context.Context) error      { return d.GridFSDownloadStream.Close() }
func (*downloadIterator) ID() int64                          { return 1 } // Read tells
func (*downloadIterator) RemainingBatchLength() int          { return 101 }
func (d *downloadIterator) number() int64                    { return int64(d.last[0]) }

func (d *downloadIterator) Err() error {
	if errors.Is(d.err, io.EOF) {
		return nil
	}
	return d.err
}

func ofFind(_ context.Context, t *testing.T, coll *mongo.Collection) (iterator, []int64) {
	return cursorIterator{batches(t, coll)}, documents
}

func ofCommand(_ context.Context, t *testing.T, coll *mongo.Collection) (iterator, []int64) {
	cursor, err := coll.Database().RunCommandCursor(context.Background(), bson.D{{Key: "find", Value: coll.Name()}, {Key: "batchSize", Value: 2}})
	require.NoError(t, err)
	cursor.SetBatchSize(2)
	return cursorIterator{cursor}, documents
}

// ofStream is a stream without an event. They come once the call is over.
func ofStream(_ context.Context, t *testing.T, coll *mongo.Collection) (iterator, []int64) {
	stream, err := coll.Watch(context.Background(), mongo.Pipeline{}, options.ChangeStream().SetMaxAwaitTime(10*time.Millisecond))
	require.NoError(t, err)
	return streamIterator{stream}, documents
}

func ofDownload(ctx context.Context, t *testing.T, coll *mongo.Collection) (_ iterator, all []int64) {
	stream, err := coll.Database().GridFSBucket().OpenDownloadStream(ctx, 1)
	require.NoError(t, err)
	for _, b := range []byte(content) {
		all = append(all, int64(b))
	}
	return &downloadIterator{GridFSDownloadStream: stream}, all
}

// using is a call with something that was opened before.
func using[T closer](open func(*testing.T, *mongo.Collection) T, use func(context.Context, T) error) opener {
	return func(t *testing.T, _ context.Context, _ *mongo.Client, coll *mongo.Collection) waiting {
		opened := open(t, coll)
		return waiting{call: func(ctx context.Context) error { return use(ctx, opened) }, close: opened.Close}
	}
}

func watch(t *testing.T, coll *mongo.Collection) *mongo.ChangeStream {
	stream, err := coll.Watch(context.Background(), mongo.Pipeline{})
	require.NoError(t, err)
	return stream
}

// transacting returns a session with a transaction that has begun.
func transacting(t *testing.T, coll *mongo.Collection) *mongo.Session {
	session, err := coll.Database().Client().StartSession()
	require.NoError(t, err)
	require.NoError(t, session.StartTransaction())
	_, err = coll.InsertOne(mongo.NewSessionContext(context.Background(), session), bson.D{})
	require.NoError(t, err)
	return session
}

// inTransaction is a call in a transaction that has begun.
func inTransaction(mute bool, call func(context.Context, *mongo.Session, *mongo.Collection) error) opener {
	return func(t *testing.T, _ context.Context, _ *mongo.Client, coll *mongo.Collection) waiting {
		session := transacting(t, coll)
		return waiting{
			call:  func(ctx context.Context) error { return call(ctx, session, coll) },
			close: func(ctx context.Context) error { session.EndSession(ctx); return nil },
			mute:  mute,
		}
	}
}

// insertInTransaction is what UseSession and WithTransaction are given to do.
func insertInTransaction(ctx context.Context, session *mongo.Session, coll *mongo.Collection) error {
	return errorOf(session.WithTransaction(ctx, func(ctx context.Context) (any, error) { return coll.InsertOne(ctx, bson.D{}) }))
}

// content is a file of more chunks of one byte than a reply has.
var content = strings.Repeat("abcdefghij", 11)

// fill puts the documents of the calls into a cluster.
func fill(c *Cluster, call string) {
	for i := range documents {
		c.Put("db.c", id(i))
	}
	if !strings.HasPrefix(call, "GridFS") {
		return
	}
	c.Put("db.fs.files", bson.D{{Key: "_id", Value: 1}, {Key: "length", Value: len(content)}, {Key: "chunkSize", Value: 1},
		{Key: "filename", Value: "f"}, {Key: "uploadDate", Value: time.Now()}})
	for i := range content {
		c.Put("db.fs.chunks", bson.D{{Key: "_id", Value: i}, {Key: "files_id", Value: 1}, {Key: "n", Value: i},
			{Key: "data", Value: []byte(content[i : i+1])}})
	}
}

// downloading is a method of a download stream whose first batch of chunks has been read.
func downloading(use func(*mongo.GridFSDownloadStream) error) opener {
	return func(t *testing.T, ctx context.Context, _ *mongo.Client, coll *mongo.Collection) waiting {
		stream, err := coll.Database().GridFSBucket().OpenDownloadStream(ctx, 1)
		require.NoError(t, err)
		return waiting{call: func(context.Context) error { return use(stream) }, bound: true,
			close: func(context.Context) error { return closedOnce(stream.Close()) }}
	}
}

func closedOnce(err error) error {
	if errors.Is(err, mongo.ErrStreamClosed) {
		return nil
	}
	return err
}

// uploading is a method of an upload stream in whose buffer there is something.
func uploading(buffered, chunk int, use func(*mongo.GridFSUploadStream) error) opener {
	return func(t *testing.T, ctx context.Context, _ *mongo.Client, coll *mongo.Collection) waiting {
		stream, err := coll.Database().GridFSBucket().OpenUploadStream(ctx, "u", options.GridFSUpload().SetChunkSizeBytes(int32(chunk)))
		require.NoError(t, err)
		_, err = stream.Write(make([]byte, buffered))
		require.NoError(t, err)
		return waiting{call: func(context.Context) error { return use(stream) }, bound: true,
			close: func(context.Context) error { return closedOnce(stream.Abort()) }}
	}
}

const (
	uploadBuffer = 16 << 20 // of an upload stream
	bigChunk     = uploadBuffer / 2
)

var set1, none1 = bson.D{{Key: "$set", Value: bson.D{{Key: "x", Value: 1}}}}, mongo.Pipeline{}

// methods are those that need nothing else than these arguments.
func methods() map[string][]any {
	write := mongo.ClientBulkWrite{Database: "db", Collection: "c", Model: mongo.NewClientInsertOneModel().SetDocument(bson.D{})}
	index := mongo.IndexModel{Keys: bson.D{{Key: "x", Value: 1}}}
	search := mongo.SearchIndexModel{Definition: bson.D{}, Options: options.SearchIndexes().SetName("x")}
	collectionsOneByOne, indexesOneByOne := options.ListCollections().SetBatchSize(1), options.ListIndexes().SetBatchSize(1)
	return map[string][]any{
		"Client.BulkWrite":         {[]mongo.ClientBulkWrite{write, write}},
		"Client.ListDatabaseNames": {bson.D{}},
		"Client.ListDatabases":     {bson.D{}},
		"Client.Ping":              {nil},
		"Client.Watch":             {none1},

		"Database.Aggregate":                    {none1},
		"Database.CreateCollection":             {"new"},
		"Database.CreateView":                   {"new", "c", none1},
		"Database.Drop":                         {},
		"Database.ListCollectionNames":          {bson.D{}, collectionsOneByOne},
		"Database.ListCollectionSpecifications": {bson.D{}, collectionsOneByOne},
		"Database.ListCollections":              {bson.D{}, collectionsOneByOne},
		"Database.RunCommand":                   {bson.D{{Key: "ping", Value: 1}}},
		"Database.RunCommandCursor":             {bson.D{{Key: "find", Value: "c"}, {Key: "batchSize", Value: 2}}},
		"Database.Watch":                        {none1},

		"Collection.Aggregate":              {none1, options.Aggregate().SetBatchSize(2)},
		"Collection.BulkWrite":              {[]mongo.WriteModel{mongo.NewInsertOneModel().SetDocument(bson.D{}), mongo.NewDeleteManyModel().SetFilter(id(1))}},
		"Collection.CountDocuments":         {bson.D{}},
		"Collection.DeleteMany":             {id(1)},
		"Collection.DeleteOne":              {id(1)},
		"Collection.Distinct":               {"x", bson.D{}},
		"Collection.Drop":                   {},
		"Collection.EstimatedDocumentCount": {},
		"Collection.Find":                   {bson.D{}, inTwos},
		"Collection.FindOne":                {bson.D{}},
		"Collection.FindOneAndDelete":       {id(1)},
		"Collection.FindOneAndReplace":      {id(1), bson.D{}},
		"Collection.FindOneAndUpdate":       {id(1), set1},
		"Collection.InsertMany":             {[]any{bson.D{}, bson.D{}}},
		"Collection.InsertOne":              {bson.D{}},
		"Collection.ReplaceOne":             {id(1), bson.D{}},
		"Collection.UpdateByID":             {1, set1},
		"Collection.UpdateMany":             {bson.D{}, set1},
		"Collection.UpdateOne":              {id(1), set1},
		"Collection.Watch":                  {none1},

		"IndexView.CreateMany":         {[]mongo.IndexModel{index}},
		"IndexView.CreateOne":          {index},
		"IndexView.DropAll":            {},
		"IndexView.DropOne":            {"x_1"},
		"IndexView.DropWithKey":        {index.Keys},
		"IndexView.List":               {indexesOneByOne},
		"IndexView.ListSpecifications": {indexesOneByOne},
		"SearchIndexView.CreateMany":   {[]mongo.SearchIndexModel{search}},
		"SearchIndexView.CreateOne":    {search},
		"SearchIndexView.DropOne":      {"x"},
		"SearchIndexView.List":         {options.SearchIndexes()},
		"SearchIndexView.UpdateOne":    {"x", bson.D{}},

		"GridFSBucket.Delete":                   {1},
		"GridFSBucket.DownloadToStream":         {1, io.Discard},
		"GridFSBucket.DownloadToStreamByName":   {"f", io.Discard},
		"GridFSBucket.Drop":                     {},
		"GridFSBucket.Find":                     {bson.D{}},
		"GridFSBucket.OpenDownloadStream":       {1},
		"GridFSBucket.OpenDownloadStreamByName": {"f"},
		"GridFSBucket.OpenUploadStream":         {"u"},
		"GridFSBucket.OpenUploadStreamWithID":   {2, "u"},
		"GridFSBucket.Rename":                   {1, "g"},
		"GridFSBucket.UploadFromStream":         {"u", strings.NewReader("u")},
		"GridFSBucket.UploadFromStreamWithID":   {2, "u", strings.NewReader("u")},
	}
}

// waitingCalls are the methods that may wait, by name.
var waitingCalls = sync.OnceValue(func() map[string]opener {
	calls := map[string]opener{}
	for name := range methods() {
		calls[name] = func(t *testing.T, ctx context.Context, client *mongo.Client, coll *mongo.Collection) waiting {
			return method(name, methods()[name])(t, ctx, client, coll) // a reader is read only once
		}
	}
	maps.Copy(calls, otherCalls)
	return calls
})

// otherCalls are methods of what has to be opened before, and those that run functions.
var otherCalls = map[string]opener{
	"Client.Disconnect": func(_ *testing.T, _ context.Context, c *mongo.Client, _ *mongo.Collection) waiting {
		return waiting{call: c.Disconnect, mute: true, disconnects: true}
	},
	"Client.UseSession": once(true, func(ctx context.Context, client *mongo.Client, c *mongo.Collection) error {
		return client.UseSession(ctx, func(ctx context.Context) error {
			return insertInTransaction(ctx, mongo.SessionFromContext(ctx), c)
		})
	}),
	"Client.UseSessionWithOptions": once(false, func(ctx context.Context, client *mongo.Client, c *mongo.Collection) error {
		return client.UseSessionWithOptions(ctx, options.Session(), func(ctx context.Context) error {
			return c.FindOne(ctx, bson.D{}).Err()
		})
	}),
	"GridFSDownloadStream.Close": downloading((*mongo.GridFSDownloadStream).Close),
	"GridFSDownloadStream.Read":  iterating(false, ofDownload),
	"GridFSDownloadStream.Skip": downloading(func(s *mongo.GridFSDownloadStream) error {
		return errorOf(s.Skip(int64(len(content))))
	}),
	"GridFSUploadStream.Abort": uploading(uploadBuffer, bigChunk, (*mongo.GridFSUploadStream).Abort),
	"GridFSUploadStream.Close": uploading(3, 1, (*mongo.GridFSUploadStream).Close),
	"GridFSUploadStream.Write": uploading(1, bigChunk, func(s *mongo.GridFSUploadStream) error {
		return errorOf(s.Write(make([]byte, uploadBuffer)))
	}),

	"Cursor.All":             using(batches, func(ctx context.Context, c *mongo.Cursor) error { return c.All(ctx, &[]bson.Raw{}) }),
	"Cursor.Close":           using(batches, func(ctx context.Context, c *mongo.Cursor) error { return c.Close(ctx) }),
	"Cursor.Next":            iterating(false, ofFind),
	"Cursor.Next, a command": iterating(false, ofCommand),
	"Cursor.TryNext":         iterating(true, ofFind),
	"ChangeStream.Close":     using(watch, func(ctx context.Context, s *mongo.ChangeStream) error { return s.Close(ctx) }),
	"ChangeStream.Next":      iterating(false, ofStream),
	"ChangeStream.TryNext":   iterating(true, ofStream),

	"Session.AbortTransaction": inTransaction(true, func(ctx context.Context, s *mongo.Session, _ *mongo.Collection) error {
		return s.AbortTransaction(ctx)
	}),
	"Session.CommitTransaction": inTransaction(false, func(ctx context.Context, s *mongo.Session, _ *mongo.Collection) error {
		return s.CommitTransaction(ctx)
	}),
	"Session.EndSession": inTransaction(true, func(ctx context.Context, s *mongo.Session, _ *mongo.Collection) error {
		s.EndSession(ctx)
		return nil
	}),
	"Session.WithTransaction": once(true, func(ctx context.Context, client *mongo.Client, c *mongo.Collection) error {
		session, err := client.StartSession()
		if err != nil {
			return err
		}
		defer session.EndSession(context.Background())
		return insertInTransaction(ctx, session, c)
	}),
	"Collection.FindOne, in a transaction": inTransaction(false, func(ctx context.Context, s *mongo.Session, c *mongo.Collection) error {
		return c.FindOne(mongo.NewSessionContext(ctx, s), bson.D{}).Err()
	}),
}

// TestEveryMethodIsTried is about methods of the driver that a later version adds.
func TestEveryMethodIsTried(t *testing.T) {
	tried := map[string]bool{}
	for name := range waitingCalls() {
		method, _, _ := strings.Cut(name, ",")
		tried[method] = true
	}
	context := reflect.TypeFor[context.Context]()
	for _, of := range []reflect.Type{
		reflect.TypeFor[*mongo.Client](), reflect.TypeFor[*mongo.Database](), reflect.TypeFor[*mongo.Collection](),
		reflect.TypeFor[*mongo.Session](), reflect.TypeFor[*mongo.Cursor](), reflect.TypeFor[*mongo.ChangeStream](),
		reflect.TypeFor[mongo.IndexView](), reflect.TypeFor[mongo.SearchIndexView](), reflect.TypeFor[*mongo.GridFSBucket](),
		reflect.TypeFor[*mongo.GridFSUploadStream](), reflect.TypeFor[*mongo.GridFSDownloadStream](),
	} {
		name := of.String()[strings.LastIndex(of.String(), ".")+1:]
		for i := range of.NumMethod() {
			method := of.Method(i)
			// Those of streams have the context with which the stream was opened.
			waits := strings.HasSuffix(name, "Stream") && strings.HasPrefix(name, "GridFS") && method.Name != "GetFile"
			for n := range method.Type.NumIn() {
				waits = waits || method.Type.In(n) == context
			}
			assert.Equal(t, waits, tried[name+"."+method.Name], "%s.%s", name, method.Name)
		}
	}
}

// sends is what a call sends if nothing goes wrong.
type sends struct {
	names []string // each command once
	count int      // of commands
	opens bool     // a cursor
}

// onCursor reports whether all commands are a cursor's.
func (s sends) onCursor() bool {
	return !slices.ContainsFunc(s.names, func(name string) bool { return name != "getMore" && name != "killCursors" })
}

// onlyEnd reports whether all commands end something on the server: a graceful Disconnect waits for them wherever they are.
func (s sends) onlyEnd() bool {
	return !slices.ContainsFunc(s.names, func(name string) bool {
		return !slices.Contains([]string{"killCursors", "commitTransaction", "abortTransaction", "endSessions"}, name)
	})
}

// sendsOf measures that.
func sendsOf(t *testing.T, name string) (s sends, w waiting) {
	cluster := New(t, Options{Topology: "replicaset:1", Batch: 1})
	fill(cluster, name)
	client := connect(t, cluster.Client())
	require.NoError(t, client.Ping(t.Context(), nil))
	w = waitingCalls()[name](t, context.Background(), client, client.Database("db").Collection("c"))
	cluster.Intercept(func(command Command, run func() bson.Raw) bson.Raw {
		if !handshake(command) {
			s.count++
			if !slices.Contains(s.names, command.Name) {
				s.names = append(s.names, command.Name)
			}
		}
		return run()
	})
	cluster.mu.Lock()
	cursors := cluster.lastCursor
	cluster.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // a quiet stream waits
	defer cancel()
	err := w.call(ctx)
	require.True(t, err == nil || mongo.IsTimeout(err), "%v", err)
	cluster.Intercept(nil)
	cluster.mu.Lock()
	s.opens = cluster.lastCursor > cursors
	cluster.mu.Unlock()
	if w.close != nil {
		require.NoError(t, w.close(context.Background()))
	}
	return s, w
}

// A place is where a call waits.
type place struct {
	name string
	opts []string // of the client
	// make lets calls wait there that send these commands. It returns what lets them go on.
	make        func(c *Cluster, client *mongo.Client, commands []string) (release func())
	says        string // in the texts of timeouts there
	sent        bool   // whether a command may have been sent whose reply does not come
	rejected    bool   // whether the servers reject what is sent
	establishes bool   // whether a connection is being established
	later       bool   // whether only a second command of the call waits there
	cluster     Options
}

// topologies are those in which a call waits there: without its connection, a cursor behind a load balancer does not need what is between
// an operation and its connection.
func (p place) topologies() []string {
	if p.sent || p.rejected {
		return []string{"replicaset:1", "loadbalanced:1"}
	}
	return []string{"replicaset:1"}
}

// client returns the options of a client that can wait there, but for those that are left out.
func (p place) client(cluster *Cluster, without ...string) *options.ClientOptions {
	opts := cluster.Client(slices.DeleteFunc(slices.Clone(p.opts), func(o string) bool { return slices.Contains(without, o) })...)
	if p.cluster.Auth != nil {
		opts.SetAuth(Credential("PLAIN"))
	}
	return opts
}

// handshake reports whether a command is a monitor's, or one that establishes a connection.
func handshake(command Command) bool {
	return slices.Contains([]string{"hello", "isMaster", "ismaster"}, command.Name) || strings.HasPrefix(command.Name, "sasl")
}

// establishing reports whether a command is part of the handshake of a new connection.
func establishing(command Command) bool {
	_, err := command.Body.LookupErr("topologyVersion")
	return handshake(command) && err != nil
}

// held lets commands wait that the function names. Those that waited are then answered as the others are.
func held(c *Cluster, waits func(Command) bool) func() {
	gone := make(chan struct{})
	c.Intercept(func(command Command, run func() bson.Raw) bson.Raw {
		select {
		case <-gone:
			return run()
		default:
		}
		if !waits(command) {
			return run()
		}
		<-gone
		if hook := *c.hook.Load(); hook != nil {
			return hook(command, run)
		}
		return run()
	})
	return sync.OnceFunc(func() { close(gone) })
}

// later returns a function that reports whether a command has one of these names, and so many came before it, on any connection.
func later(commands []string, after int) func(Command) bool {
	var came atomic.Int64
	return func(command Command) bool {
		return slices.Contains(commands, command.Name) && came.Add(1) > int64(after)
	}
}

// rejecting lets servers reject the commands of these names, after so many.
func rejecting(c *Cluster, commands []string, after int) {
	rejected := later(commands, after)
	c.Intercept(func(command Command, run func() bson.Raw) bson.Raw {
		if rejected(command) {
			return RequestRate.Reply()
		}
		return run()
	})
}

const oneConnection, newConnection, manyRetries = "maxPoolSize=1", "maxIdleTimeMS=1", "maxAdaptiveRetries=1000"

// linked lets calls wait for what a link does not do.
func linked(link Link) func(*Cluster, *mongo.Client, []string) func() {
	return func(c *Cluster, _ *mongo.Client, _ []string) func() {
		c.SetLink(link)
		return func() { c.SetLink(Up) }
	}
}

var places = []place{
	{name: "selection", says: "server selection", make: func(c *Cluster, _ *mongo.Client, _ []string) func() {
		c.SetLink(Refusing)
		c.Reset()
		return func() { c.SetLink(Up) }
	}},
	{name: "queue", says: "checking out a connection", opts: []string{oneConnection}, make: func(c *Cluster, client *mongo.Client, _ []string) func() {
		release := held(c, func(command Command) bool {
			return command.Name == "distinct" && command.Body.Lookup("key").StringValue() == "held"
		})
		go func() {
			long, cancel := context.WithTimeout(context.Background(), time.Hour) // longer than the client's Timeout
			defer cancel()
			client.Database("db").Collection("c").Distinct(long, "held", bson.D{})
		}()
		return release
	}},
	{name: "dial", says: "connection", opts: []string{newConnection}, establishes: true, make: linked(Silent)},
	{name: "TLS", opts: []string{newConnection, "tls=true&tlsInsecure=true"}, establishes: true, make: linked(Mute),
		cluster: Options{TLS: encryption()}},
	{name: "hello", says: "connection", opts: []string{newConnection}, establishes: true, make: func(c *Cluster, _ *mongo.Client, _ []string) func() {
		return held(c, establishing)
	}},
	{name: "authentication", opts: []string{newConnection}, establishes: true,
		cluster: Options{Auth: &Auth{}},
		make: func(c *Cluster, _ *mongo.Client, _ []string) func() {
			return held(c, func(command Command) bool { return strings.HasPrefix(command.Name, "sasl") })
		}},
	{name: "send", sent: true, make: linked(Choked)},
	{name: "reply", says: "read", sent: true, make: func(c *Cluster, _ *mongo.Client, commands []string) func() {
		return held(c, later(commands, 0))
	}},
	{name: "reply between batches", sent: true, later: true, make: func(c *Cluster, _ *mongo.Client, commands []string) func() {
		return held(c, later(commands, 1))
	}},
	{name: "backoff", rejected: true, opts: []string{manyRetries}, make: func(c *Cluster, _ *mongo.Client, commands []string) func() {
		rejecting(c, commands, 0)
		return func() {}
	}},
	{name: "backoff between batches", rejected: true, later: true, opts: []string{manyRetries},
		make: func(c *Cluster, _ *mongo.Client, commands []string) func() {
			rejecting(c, commands, 1)
			return func() {}
		}},
}

// encryption returns what servers encrypt with, by a certificate that nobody trusts.
func encryption() *tls.Config {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	return server.TLS
}
