package mongo

import (
	"bytes"
	"context"
	"io"
	"math"
	"reflect"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// sendingMethod is an exported method that sends commands. Its name is that of the receiver's type and its own.
type sendingMethod struct {
	name    string
	replies []any                                    // to the commands that come before the ones that the servers reject
	args    []any                                    // after the context
	run     func(context.Context, *Collection) error // is calling the method with args, if it is nil

	// silent says that the method returns no error, or hides it.
	silent bool
	// alone says that the method cannot be part of a transaction.
	alone bool
	// topic is the one that promises what the tests of all methods ask of this one.
	topic string
}

// topics are those that the driver has: the tests of each add it.
var topics = map[string]bool{"": true}

// disconnecting begins the end of the client of a script; nil if nobody would notice.
var disconnecting func(*scripted.Script)

// sendingMethods returns the methods whose topics the driver has.
func sendingMethods() (all []sendingMethod) {
	for _, method := range everySendingMethod() {
		if topics[method.topic] {
			all = append(all, method)
		}
	}
	return all
}

func everySendingMethod() (all []sendingMethod) {
	for _, methods := range [][]sendingMethod{onCollections, onDatabases, onClients, onEncryption} {
		for _, method := range methods {
			if method.run == nil {
				method.run = calling(method.name, method.args...)
			}
			all = append(all, method)
		}
	}
	return all
}

// calling returns a function that calls an exported method, by the name that a sendingMethod has.
func calling(method string, args ...any) func(context.Context, *Collection) error {
	return func(ctx context.Context, c *Collection) error { return second(callMethod(ctx, c, method, args...)) }
}

// callMethod calls a method of what is made with the collection. It returns the first result, and the error, or that which Err returns.
func callMethod(ctx context.Context, c *Collection, method string, args ...any) (any, error) {
	on, name, _ := strings.Cut(method, ".")
	receiver, err := receiverOf(ctx, c, on)
	if err != nil {
		return nil, err
	}
	called := reflect.ValueOf(receiver).MethodByName(name)
	var in []reflect.Value
	if typ := called.Type(); typ.NumIn() > 0 && typ.In(0) == reflect.TypeOf((*context.Context)(nil)).Elem() {
		in = append(in, reflect.ValueOf(&ctx).Elem())
	}
	for _, arg := range args {
		value := reflect.ValueOf(arg)
		if source, ok := arg.(func() io.Reader); ok {
			value = reflect.ValueOf(source())
		} else if arg == nil {
			value = reflect.Zero(called.Type().In(len(in)))
		}
		in = append(in, value)
	}
	out := called.Call(in)
	switch last := out[len(out)-1].Interface().(type) {
	case error:
		err = last
	case interface{ Err() error }:
		err = last.Err()
	case bool:
		err = receiver.(interface{ Err() error }).Err()
	}
	return out[0].Interface(), err
}

// receiverOf returns a value of the type, which takes a command if it is an iterator or a stream.
func receiverOf(ctx context.Context, c *Collection, typ string) (any, error) {
	switch typ {
	case "Cursor":
		return c.Find(ctx, anything)
	case "ChangeStream":
		return c.Watch(ctx, Pipeline{})
	case "GridFSUploadStream":
		return bucketOf(c).OpenUploadStream(ctx, "file")
	case "GridFSDownloadStream":
		return bucketOf(c).OpenDownloadStream(ctx, 1)
	}
	return map[string]any{
		"Collection": c, "Database": c.Database(), "Client": c.client, "ClientEncryption": encryptionOf(c),
		"IndexView": c.Indexes(), "SearchIndexView": c.SearchIndexes(), "GridFSBucket": bucketOf(c),
	}[typ], nil
}

func bucketOf(c *Collection) *GridFSBucket { return c.Database().GridFSBucket() }

var (
	replaced = bson.D{{Key: "x", Value: 1}}
	oneIndex = IndexModel{Keys: bson.D{{Key: "x", Value: 1}}}

	twoBatches   = []any{[]any{anything, anything, anything}}
	twoKinds     = []any{[]WriteModel{NewInsertOneModel().SetDocument(anything), NewDeleteManyModel().SetFilter(anything)}}
	oneBulkWrite = []any{[]ClientBulkWrite{{Database: "db", Collection: "a", Model: &ClientInsertOneModel{Document: anything}}}}

	opened    = scripted.OK(firstBatch(7, bson.D{}))
	emptyOpen = scripted.OK(firstBatch(7))
	noFile    = scripted.OK(firstBatch(0, bson.D{}))

	// Without these, Count and SearchIndexView.CreateOne panic, but for the fix of replies.
	oneResult = firstBatch(0, bson.D{{Key: "n", Value: int32(1)}})
	madeIndex = bson.E{Key: "indexesCreated", Value: bson.A{bson.D{{Key: "name", Value: "a"}}}}
)

// using returns a function that uses a cursor, a change stream or an upload.
func using[T any](use func(context.Context, T) error) func(context.Context, *Collection) error {
	return func(ctx context.Context, c *Collection) error {
		receiver, err := receiverOf(ctx, c, reflect.TypeOf(*new(T)).Elem().Name())
		if err != nil {
			return err
		}
		return use(ctx, receiver.(T))
	}
}

func insertWithTransaction(ctx context.Context, coll *Collection) error {
	session, err := coll.client.StartSession()
	if err != nil {
		return err
	}
	_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) { return nil, insertAny(ctx, coll) })
	return err
}

var onCollections = []sendingMethod{
	{name: "Collection.Aggregate", args: []any{Pipeline{}}},
	{name: "Collection.BulkWrite", args: twoKinds},
	{name: "Collection.BulkWrite", replies: []any{scripted.OK()}, args: twoKinds},
	{name: "Collection.Aggregate", args: []any{Pipeline{{{Key: "$out", Value: "other"}}}}},
	{name: "Collection.CountDocuments", args: []any{anything}},
	{name: "Collection.DeleteMany", args: []any{anything}},
	{name: "Collection.DeleteOne", args: []any{anything}},
	{name: "Collection.Distinct", args: []any{"x", anything}},
	{name: "Collection.Drop", alone: true},
	{name: "Collection.EstimatedDocumentCount", topic: "reply-types"},
	{name: "Collection.Find", args: []any{anything}},
	{name: "Collection.FindOne", args: []any{anything}},
	{name: "Collection.FindOneAndDelete", args: []any{anything}},
	{name: "Collection.FindOneAndReplace", args: []any{anything, replaced}},
	{name: "Collection.FindOneAndUpdate", args: []any{anything, increment}},
	{name: "Collection.InsertMany", args: twoBatches},
	{name: "Collection.InsertMany", replies: []any{scripted.OK()}, args: twoBatches},
	{name: "Collection.InsertOne", args: []any{anything}},
	{name: "Collection.ReplaceOne", args: []any{anything, replaced}},
	{name: "Collection.UpdateByID", args: []any{1, increment}},
	{name: "Collection.UpdateMany", args: []any{anything, increment}},
	{name: "Collection.UpdateOne", args: []any{anything, increment}},
	{name: "Collection.Watch", topic: "iterators", args: []any{Pipeline{}}, alone: true},

	{name: "IndexView.CreateMany", args: []any{[]IndexModel{oneIndex}}},
	{name: "IndexView.CreateOne", args: []any{oneIndex}},
	{name: "IndexView.DropAll", alone: true},
	{name: "IndexView.DropOne", args: []any{"a"}, alone: true},
	{name: "IndexView.DropWithKey", args: []any{replaced}, alone: true},
	{name: "IndexView.List", alone: true},
	{name: "IndexView.ListSpecifications", alone: true},
	{name: "SearchIndexView.CreateMany", args: []any{[]SearchIndexModel{{Definition: anything}}}, alone: true},
	{name: "SearchIndexView.CreateOne", args: []any{SearchIndexModel{Definition: anything}}, alone: true},
	{name: "SearchIndexView.DropOne", topic: "searchindex", args: []any{"a"}, alone: true},
	{name: "SearchIndexView.List", args: []any{options.SearchIndexes()}, alone: true},
	{name: "SearchIndexView.UpdateOne", topic: "searchindex", args: []any{"a", anything}, alone: true},
}

var onDatabases = []sendingMethod{
	{name: "Database.Aggregate", args: []any{Pipeline{}}},
	{name: "Database.CreateCollection", topic: "timeouts", args: []any{"new"}},
	{name: "Database.CreateView", topic: "timeouts", args: []any{"view", "coll", Pipeline{}}, alone: true},
	{name: "Database.Drop", topic: "timeouts", alone: true},
	{name: "Database.ListCollectionNames", topic: "iterators", args: []any{anything}, alone: true},
	{name: "Database.ListCollectionSpecifications", args: []any{anything}, alone: true},
	{name: "Database.ListCollections", args: []any{anything}, alone: true},
	{name: "Database.RunCommand", args: []any{replaced}},
	{name: "Database.RunCommandCursor", args: []any{replaced}},
	{name: "Database.Watch", topic: "iterators", args: []any{Pipeline{}}, alone: true},

	{name: "GridFSBucket.Delete", args: []any{1}, topic: "gridfs"},
	{name: "GridFSBucket.DownloadToStream", args: []any{1, io.Discard}},
	{name: "GridFSBucket.DownloadToStream", topic: "iterators", replies: []any{foundFile, emptyOpen}, args: []any{1, io.Discard}},
	{name: "GridFSBucket.DownloadToStreamByName", args: []any{"file", io.Discard}},
	{name: "GridFSBucket.Drop", alone: true},
	{name: "GridFSBucket.Find", args: []any{anything}},
	{name: "GridFSBucket.OpenDownloadStream", args: []any{1}},
	{name: "GridFSBucket.OpenDownloadStreamByName", args: []any{"file"}},
	{name: "GridFSBucket.OpenUploadStream", args: []any{"file"}, alone: true},
	{name: "GridFSBucket.OpenUploadStreamWithID", args: []any{1, "file"}, alone: true},
	{name: "GridFSBucket.Rename", args: []any{1, "other"}},
	{name: "GridFSBucket.UploadFromStream", replies: []any{noFile}, args: []any{"file", content}, alone: true},
	{name: "GridFSBucket.UploadFromStreamWithID", args: []any{1, "file", content}, alone: true},
	{name: "GridFSUploadStream.Abort", replies: []any{noFile}, run: using(func(_ context.Context, us *GridFSUploadStream) error {
		us.chunkIndex = 1 // a chunk was stored
		return us.Abort()
	}), alone: true},
	{name: "GridFSUploadStream.Close", replies: []any{noFile}, alone: true},
	{name: "GridFSUploadStream.Write", replies: []any{noFile}, args: []any{make([]byte, 16*1024*1024)}, alone: true},
	{name: "GridFSDownloadStream.Close", replies: []any{foundFile, emptyOpen}, topic: "gridfs"},
	{name: "GridFSDownloadStream.Read", replies: []any{foundFile, emptyOpen}, args: []any{make([]byte, 9)}},
	{name: "GridFSDownloadStream.Skip", replies: []any{foundFile, emptyOpen}, args: []any{int64(9)}},
}

var onClients = []sendingMethod{
	{name: "Client.BulkWrite", topic: "outcomes", args: oneBulkWrite},
	{name: "Client.Disconnect", topic: "disconnecting", replies: []any{scripted.OK()}, run: afterPing(calling("Client.Disconnect")),
		silent: true, alone: true},
	{name: "Client.ListDatabaseNames", args: []any{anything}, alone: true},
	{name: "Client.ListDatabases", args: []any{anything}, alone: true},
	{name: "Client.Ping", args: []any{nil}},
	{name: "Client.UseSession", run: func(ctx context.Context, c *Collection) error {
		return c.client.UseSession(ctx, func(ctx context.Context) error { return insertAny(ctx, c) })
	}, alone: true},
	{name: "Client.UseSessionWithOptions", run: func(ctx context.Context, c *Collection) error {
		return c.client.UseSessionWithOptions(ctx, options.Session(), func(ctx context.Context) error { return insertAny(ctx, c) })
	}, alone: true},
	{name: "Client.Watch", topic: "iterators", args: []any{Pipeline{}}, alone: true},

	{name: "Session.AbortTransaction", topic: "transactions", replies: []any{scripted.OK()}, run: ending((*Session).AbortTransaction),
		silent: true, alone: true},
	{name: "Session.CommitTransaction", topic: "transactions", replies: []any{scripted.OK()}, run: ending((*Session).CommitTransaction), alone: true},
	{name: "Session.EndSession", topic: "transactions", replies: []any{scripted.OK()}, run: ending(endSession), silent: true, alone: true},
	{name: "Session.WithTransaction", topic: "transactions", run: insertWithTransaction, alone: true},
	{name: "Session.WithTransaction", topic: "transactions", replies: []any{scripted.OK()}, run: insertWithTransaction, alone: true},

	{name: "Cursor.All", topic: "iterators", replies: []any{opened}, args: []any{&[]bson.D{}}},
	{name: "Cursor.Close", topic: "iterators", replies: []any{opened}},
	{name: "Cursor.Next", topic: "iterators", replies: []any{emptyOpen}},
	{name: "Cursor.TryNext", topic: "iterators", replies: []any{emptyOpen}, run: using(func(ctx context.Context, c *Cursor) error {
		c.TryNext(ctx) // the first batch, which is empty
		c.TryNext(ctx)
		return c.Err()
	})},
	{name: "ChangeStream.Close", topic: "iterators", replies: []any{emptyOpen}, alone: true},
	{name: "ChangeStream.Next", topic: "iterators", replies: []any{emptyOpen}, alone: true},
	{name: "ChangeStream.Next", topic: "iterators", replies: []any{emptyOpen, scripted.Failure(1, resumableErrorLabel)}, alone: true},
	{name: "ChangeStream.TryNext", topic: "iterators", replies: []any{emptyOpen}, run: using(func(ctx context.Context, s *ChangeStream) error {
		s.TryNext(ctx) // the first batch, which is empty
		s.TryNext(ctx)
		return s.Err()
	}), alone: true},
}

// storedFile is a file of a bucket, of two chunks.
var (
	storedFile = bson.D{{Key: "_id", Value: 1}, {Key: "length", Value: int64(6)}, {Key: "chunkSize", Value: int32(4)},
		{Key: "uploadDate", Value: bson.DateTime(1)}, {Key: "filename", Value: "a"}, {Key: "metadata", Value: bson.D{}}}
	firstChunk = bson.D{{Key: "_id", Value: 1}, {Key: "files_id", Value: 1}, {Key: "n", Value: int32(0)},
		{Key: "data", Value: []byte("abcd")}}
	secondChunk = bson.D{{Key: "_id", Value: 2}, {Key: "files_id", Value: 1}, {Key: "n", Value: int32(1)},
		{Key: "data", Value: []byte("ef")}}
)

// otherTypes are values of types that a field may have when a server, or who writes to a bucket, stores what drivers do not.
var otherTypes = []any{
	nil, "text", 1.5, true, bson.D{}, bson.D{{Key: "a", Value: 1}}, bson.A{}, bson.NewObjectID(), bson.Regex{Pattern: "a"},
	bson.MinKey{}, bson.DateTime(1), bson.Timestamp{T: 1}, bson.Decimal128{}, bson.Binary{},
	bson.Binary{Subtype: 2, Data: []byte("ab")},
	int32(-1), int32(0), int32(math.MaxInt32), int64(0), int64(math.MinInt64), int64(math.MaxInt64), int64(1) << 32, int64(1)<<32 + 1,
}

// with returns the document with a field of another value; without it, if the value is absent.
func with(doc bson.D, key string, value any) bson.D {
	changed := bson.D{}
	for _, element := range doc {
		switch {
		case element.Key != key:
			changed = append(changed, element)
		case value != absent:
			changed = append(changed, bson.E{Key: key, Value: value})
		}
	}
	return changed
}

var absent = new(int)

// foundFile is the reply to a find of a file of GridFS, which has one chunk.
var foundFile = scripted.OK(firstBatch(0, bson.D{
	{Key: "_id", Value: 1}, {Key: "length", Value: 9}, {Key: "chunkSize", Value: 9}, {Key: "filename", Value: "a"},
}))

func content() io.Reader { return bytes.NewReader([]byte("content")) }

// ending inserts in a transaction, and ends it.
func ending(end func(*Session, context.Context) error) func(context.Context, *Collection) error {
	return func(ctx context.Context, c *Collection) error {
		session, err := c.client.StartSession()
		if err != nil {
			return err
		}
		if err := session.StartTransaction(); err != nil {
			return err
		}
		if err := insertAny(NewSessionContext(ctx, session), c); err != nil {
			return err
		}
		return end(session, ctx)
	}
}

var endSession = func(s *Session, ctx context.Context) error { s.EndSession(ctx); return nil }

// afterPing runs a function with a client that has pinged its server.
func afterPing(run func(context.Context, *Collection) error) func(context.Context, *Collection) error {
	return func(ctx context.Context, c *Collection) error {
		if err := c.client.Ping(ctx, nil); err != nil {
			return err
		}
		return run(ctx, c)
	}
}
