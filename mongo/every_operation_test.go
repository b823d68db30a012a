package mongo

import (
	"bytes"
	"context"
	"io"
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// sendingMethod is an exported method that sends commands. Its name is that of the receiver's type and its own.
type sendingMethod struct {
	name    string
	replies []any // to the commands that come before the ones that the servers reject
	run     func(context.Context, *Collection) error

	// silent says that the method returns no error, or hides it.
	silent bool
	// alone says that the method cannot be part of a transaction.
	alone bool
	// topic is the one that promises what the tests of all methods ask of this one.
	topic string
}

// topics are those that the driver has, each noted by its tests.
var topics = map[string]bool{"": true}

// disconnecting begins the end of the client of a script; nil if nobody would notice.
var disconnecting func(*scripted.Script)

func noted(topic string) bool { topics[topic] = true; return true }

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
		all = append(all, methods...)
	}
	return all
}

var (
	replaced  = bson.D{{Key: "x", Value: 1}}
	oneIndex  = IndexModel{Keys: bson.D{{Key: "x", Value: 1}}}
	opened    = scripted.OK(firstBatch(7, bson.D{}))
	emptyOpen = scripted.OK(firstBatch(7))
	noFile    = scripted.OK(firstBatch(0, bson.D{}))

	// Without these, Count and SearchIndexView.CreateOne panic, but for the fix of replies.
	oneResult = firstBatch(0, bson.D{{Key: "n", Value: int32(1)}})
	madeIndex = bson.E{Key: "indexesCreated", Value: bson.A{bson.D{{Key: "name", Value: "a"}}}}
)

func withUpload(use func(*GridFSUploadStream) error) func(context.Context, *Collection) error {
	return func(ctx context.Context, c *Collection) error {
		stream, err := c.Database().GridFSBucket().OpenUploadStream(ctx, "file")
		if err != nil {
			return err
		}
		return use(stream)
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

func insertTwoBatches(ctx context.Context, c *Collection) error {
	return second(c.InsertMany(ctx, []any{anything, anything, anything}))
}

func writeTwoKinds(ctx context.Context, c *Collection) error {
	return second(c.BulkWrite(ctx, []WriteModel{NewInsertOneModel().SetDocument(anything), NewDeleteManyModel().SetFilter(anything)}))
}

func bucketOf(c *Collection) *GridFSBucket { return c.Database().GridFSBucket() }

var onCollections = []sendingMethod{
	{name: "Collection.Aggregate", run: func(ctx context.Context, c *Collection) error { return second(c.Aggregate(ctx, Pipeline{})) }},
	{name: "Collection.BulkWrite", run: writeTwoKinds},
	{name: "Collection.BulkWrite", replies: []any{scripted.OK()}, run: writeTwoKinds},
	{name: "Collection.Aggregate", run: func(ctx context.Context, c *Collection) error {
		return second(c.Aggregate(ctx, Pipeline{{{Key: "$out", Value: "other"}}}))
	}},
	{name: "Collection.CountDocuments",
		run: func(ctx context.Context, c *Collection) error { return second(c.CountDocuments(ctx, anything)) }},
	{name: "Collection.DeleteMany", run: func(ctx context.Context, c *Collection) error { return second(c.DeleteMany(ctx, anything)) }},
	{name: "Collection.DeleteOne", run: func(ctx context.Context, c *Collection) error { return second(c.DeleteOne(ctx, anything)) }},
	{name: "Collection.Distinct", run: func(ctx context.Context, c *Collection) error { return c.Distinct(ctx, "x", anything).Err() }},
	{name: "Collection.Drop", run: func(ctx context.Context, c *Collection) error { return c.Drop(ctx) }, alone: true},
	{name: "Collection.EstimatedDocumentCount", topic: "reply-types",
		run: func(ctx context.Context, c *Collection) error { return second(c.EstimatedDocumentCount(ctx)) }},
	{name: "Collection.Find", run: func(ctx context.Context, c *Collection) error { return second(c.Find(ctx, anything)) }},
	{name: "Collection.FindOne", run: func(ctx context.Context, c *Collection) error { return c.FindOne(ctx, anything).Err() }},
	{name: "Collection.FindOneAndDelete",
		run: func(ctx context.Context, c *Collection) error { return c.FindOneAndDelete(ctx, anything).Err() }},
	{name: "Collection.FindOneAndReplace",
		run: func(ctx context.Context, c *Collection) error {
			return c.FindOneAndReplace(ctx, anything, replaced).Err()
		}},
	{name: "Collection.FindOneAndUpdate",
		run: func(ctx context.Context, c *Collection) error {
			return c.FindOneAndUpdate(ctx, anything, increment).Err()
		}},
	{name: "Collection.InsertMany", run: insertTwoBatches},
	{name: "Collection.InsertMany", replies: []any{scripted.OK()}, run: insertTwoBatches},
	{name: "Collection.InsertOne", run: func(ctx context.Context, c *Collection) error { return second(c.InsertOne(ctx, anything)) }},
	{name: "Collection.ReplaceOne",
		run: func(ctx context.Context, c *Collection) error { return second(c.ReplaceOne(ctx, anything, replaced)) }},
	{name: "Collection.UpdateByID", run: func(ctx context.Context, c *Collection) error { return second(c.UpdateByID(ctx, 1, increment)) }},
	{name: "Collection.UpdateMany",
		run: func(ctx context.Context, c *Collection) error { return second(c.UpdateMany(ctx, anything, increment)) }},
	{name: "Collection.UpdateOne",
		run: func(ctx context.Context, c *Collection) error { return second(c.UpdateOne(ctx, anything, increment)) }},
	{name: "Collection.Watch", topic: "iterators", run: func(ctx context.Context, c *Collection) error { return second(c.Watch(ctx, Pipeline{})) },
		alone: true},

	{name: "IndexView.CreateMany", run: func(ctx context.Context, c *Collection) error {
		return second(c.Indexes().CreateMany(ctx, []IndexModel{oneIndex}))
	}},
	{name: "IndexView.CreateOne",
		run: func(ctx context.Context, c *Collection) error { return second(c.Indexes().CreateOne(ctx, oneIndex)) }},
	{name: "IndexView.DropAll", run: func(ctx context.Context, c *Collection) error { return c.Indexes().DropAll(ctx) }, alone: true},
	{name: "IndexView.DropOne", run: func(ctx context.Context, c *Collection) error { return c.Indexes().DropOne(ctx, "a") }, alone: true},
	{name: "IndexView.DropWithKey",
		run: func(ctx context.Context, c *Collection) error { return c.Indexes().DropWithKey(ctx, replaced) }, alone: true},
	{name: "IndexView.List", run: func(ctx context.Context, c *Collection) error { return second(c.Indexes().List(ctx)) }, alone: true},
	{name: "IndexView.ListSpecifications", run: func(ctx context.Context, c *Collection) error {
		return second(c.Indexes().ListSpecifications(ctx))
	}, alone: true},
	{name: "SearchIndexView.CreateMany", run: func(ctx context.Context, c *Collection) error {
		return second(c.SearchIndexes().CreateMany(ctx, []SearchIndexModel{{Definition: anything}}))
	}, alone: true},
	{name: "SearchIndexView.CreateOne", run: func(ctx context.Context, c *Collection) error {
		return second(c.SearchIndexes().CreateOne(ctx, SearchIndexModel{Definition: anything}))
	}, alone: true},
	{name: "SearchIndexView.DropOne", topic: "searchindex",
		run: func(ctx context.Context, c *Collection) error { return c.SearchIndexes().DropOne(ctx, "a") }, alone: true},
	{name: "SearchIndexView.List", run: func(ctx context.Context, c *Collection) error {
		return second(c.SearchIndexes().List(ctx, options.SearchIndexes()))
	}, alone: true},
	{name: "SearchIndexView.UpdateOne", topic: "searchindex", run: func(ctx context.Context, c *Collection) error {
		return c.SearchIndexes().UpdateOne(ctx, "a", anything)
	}, alone: true},
}

var onDatabases = []sendingMethod{
	{name: "Database.Aggregate",
		run: func(ctx context.Context, c *Collection) error { return second(c.Database().Aggregate(ctx, Pipeline{})) }},
	{name: "Database.CreateCollection", topic: "timeouts",
		run: func(ctx context.Context, c *Collection) error { return c.Database().CreateCollection(ctx, "new") }},
	{name: "Database.CreateView", topic: "timeouts", run: func(ctx context.Context, c *Collection) error {
		return c.Database().CreateView(ctx, "view", "coll", Pipeline{})
	}, alone: true},
	{name: "Database.Drop", topic: "timeouts", run: func(ctx context.Context, c *Collection) error { return c.Database().Drop(ctx) }, alone: true},
	{name: "Database.ListCollectionNames", topic: "iterators", run: listCollectionNames, alone: true},
	{name: "Database.ListCollectionSpecifications", run: func(ctx context.Context, c *Collection) error {
		return second(c.Database().ListCollectionSpecifications(ctx, anything))
	}, alone: true},
	{name: "Database.ListCollections", run: func(ctx context.Context, c *Collection) error {
		return second(c.Database().ListCollections(ctx, anything))
	}, alone: true},
	{name: "Database.RunCommand",
		run: func(ctx context.Context, c *Collection) error { return c.Database().RunCommand(ctx, replaced).Err() }},
	{name: "Database.RunCommandCursor",
		run: func(ctx context.Context, c *Collection) error {
			return second(c.Database().RunCommandCursor(ctx, replaced))
		}},
	{name: "Database.Watch", topic: "iterators", run: func(ctx context.Context, c *Collection) error {
		return second(c.Database().Watch(ctx, Pipeline{}))
	}, alone: true},

	{name: "GridFSBucket.Delete", run: func(ctx context.Context, c *Collection) error { return bucketOf(c).Delete(ctx, 1) },
		topic: "gridfs"},
	{name: "GridFSBucket.DownloadToStream", run: func(ctx context.Context, c *Collection) error {
		return second(bucketOf(c).DownloadToStream(ctx, 1, io.Discard))
	}},
	{name: "GridFSBucket.DownloadToStream", topic: "iterators", replies: []any{foundFile, emptyOpen}, run: func(ctx context.Context, c *Collection) error {
		return second(bucketOf(c).DownloadToStream(ctx, 1, io.Discard))
	}},
	{name: "GridFSBucket.DownloadToStreamByName", run: func(ctx context.Context, c *Collection) error {
		return second(bucketOf(c).DownloadToStreamByName(ctx, "file", io.Discard))
	}},
	{name: "GridFSBucket.Drop", run: func(ctx context.Context, c *Collection) error { return bucketOf(c).Drop(ctx) }, alone: true},
	{name: "GridFSBucket.Find", run: func(ctx context.Context, c *Collection) error { return second(bucketOf(c).Find(ctx, anything)) }},
	{name: "GridFSBucket.OpenDownloadStream",
		run: func(ctx context.Context, c *Collection) error { return second(bucketOf(c).OpenDownloadStream(ctx, 1)) }},
	{name: "GridFSBucket.OpenDownloadStreamByName", run: func(ctx context.Context, c *Collection) error {
		return second(bucketOf(c).OpenDownloadStreamByName(ctx, "file"))
	}},
	{name: "GridFSBucket.OpenUploadStream", run: func(ctx context.Context, c *Collection) error {
		return second(bucketOf(c).OpenUploadStream(ctx, "file"))
	}, alone: true},
	{name: "GridFSBucket.OpenUploadStreamWithID", run: func(ctx context.Context, c *Collection) error {
		return second(bucketOf(c).OpenUploadStreamWithID(ctx, 1, "file"))
	}, alone: true},
	{name: "GridFSBucket.Rename", run: func(ctx context.Context, c *Collection) error { return bucketOf(c).Rename(ctx, 1, "other") }},
	{name: "GridFSBucket.UploadFromStream", replies: []any{noFile}, run: func(ctx context.Context, c *Collection) error {
		return second(bucketOf(c).UploadFromStream(ctx, "file", content()))
	}, alone: true},
	{name: "GridFSBucket.UploadFromStreamWithID", run: func(ctx context.Context, c *Collection) error {
		return bucketOf(c).UploadFromStreamWithID(ctx, 1, "file", content())
	}, alone: true},
	{name: "GridFSUploadStream.Abort", replies: []any{noFile}, run: withUpload(func(us *GridFSUploadStream) error {
		us.chunkIndex = 1 // a chunk was stored
		return us.Abort()
	}), alone: true},
	{name: "GridFSUploadStream.Close", replies: []any{noFile}, run: withUpload((*GridFSUploadStream).Close), alone: true},
	{name: "GridFSUploadStream.Write", replies: []any{noFile}, run: withUpload(func(us *GridFSUploadStream) error {
		return second(us.Write(make([]byte, 16*1024*1024)))
	}), alone: true},
	{name: "GridFSDownloadStream.Close", replies: []any{foundFile, emptyOpen}, run: withDownload((*GridFSDownloadStream).Close),
		topic: "gridfs"},
	{name: "GridFSDownloadStream.Read", replies: []any{foundFile, emptyOpen}, run: withDownload(func(ds *GridFSDownloadStream) error {
		return second(ds.Read(make([]byte, 9)))
	})},
	{name: "GridFSDownloadStream.Skip", replies: []any{foundFile, emptyOpen}, run: withDownload(func(ds *GridFSDownloadStream) error {
		return second(ds.Skip(9))
	})},
}

var onClients = []sendingMethod{
	{name: "Client.BulkWrite", topic: "outcomes", run: func(ctx context.Context, c *Collection) error {
		return second(c.client.BulkWrite(ctx, []ClientBulkWrite{
			{Database: "db", Collection: "a", Model: &ClientInsertOneModel{Document: anything}},
		}))
	}},
	{name: "Client.Disconnect", replies: []any{scripted.OK()}, run: disconnect, silent: true, alone: true, topic: "disconnecting"},
	{name: "Client.ListDatabaseNames", run: func(ctx context.Context, c *Collection) error {
		return second(c.client.ListDatabaseNames(ctx, anything))
	}, alone: true},
	{name: "Client.ListDatabases", run: func(ctx context.Context, c *Collection) error {
		return second(c.client.ListDatabases(ctx, anything))
	}, alone: true},
	{name: "Client.Ping", run: func(ctx context.Context, c *Collection) error { return c.client.Ping(ctx, nil) }},
	{name: "Client.UseSession", run: func(ctx context.Context, c *Collection) error {
		return c.client.UseSession(ctx, func(ctx context.Context) error { return second(c.InsertOne(ctx, anything)) })
	}, alone: true},
	{name: "Client.UseSessionWithOptions", run: func(ctx context.Context, c *Collection) error {
		return c.client.UseSessionWithOptions(ctx, options.Session(), func(ctx context.Context) error {
			return second(c.InsertOne(ctx, anything))
		})
	}, alone: true},
	{name: "Client.Watch", topic: "iterators",
		run: func(ctx context.Context, c *Collection) error { return second(c.client.Watch(ctx, Pipeline{})) }, alone: true},

	{name: "Session.AbortTransaction", topic: "transactions", replies: []any{scripted.OK()}, run: ending((*Session).AbortTransaction),
		silent: true, alone: true},
	{name: "Session.CommitTransaction", topic: "transactions", replies: []any{scripted.OK()}, run: ending((*Session).CommitTransaction), alone: true},
	{name: "Session.EndSession", topic: "transactions", replies: []any{scripted.OK()}, run: ending(endSession), silent: true, alone: true},
	{name: "Session.WithTransaction", topic: "transactions", run: insertWithTransaction, alone: true},
	{name: "Session.WithTransaction", topic: "transactions", replies: []any{scripted.OK()}, run: insertWithTransaction, alone: true},

	{name: "Cursor.All", topic: "iterators", replies: []any{opened},
		run: withCursor(func(ctx context.Context, c *Cursor) error { return c.All(ctx, &[]bson.D{}) })},
	{name: "Cursor.Close", topic: "iterators", replies: []any{opened}, run: withCursor(func(ctx context.Context, c *Cursor) error { return c.Close(ctx) })},
	{name: "Cursor.Next", topic: "iterators", replies: []any{emptyOpen},
		run: withCursor(func(ctx context.Context, c *Cursor) error { c.Next(ctx); return c.Err() })},
	{name: "Cursor.TryNext", topic: "iterators", replies: []any{emptyOpen}, run: withCursor(func(ctx context.Context, c *Cursor) error {
		c.TryNext(ctx) // the first batch, which is empty
		c.TryNext(ctx)
		return c.Err()
	})},
	{name: "ChangeStream.Close", topic: "iterators", replies: []any{emptyOpen},
		run: withStream(func(ctx context.Context, s *ChangeStream) error { return s.Close(ctx) }), alone: true},
	{name: "ChangeStream.Next", topic: "iterators", replies: []any{emptyOpen}, alone: true,
		run: withStream(func(ctx context.Context, s *ChangeStream) error { s.Next(ctx); return s.Err() })},
	{name: "ChangeStream.Next", topic: "iterators", replies: []any{emptyOpen, scripted.Failure(1, resumableErrorLabel)}, alone: true,
		run: withStream(func(ctx context.Context, s *ChangeStream) error { s.Next(ctx); return s.Err() })},
	{name: "ChangeStream.TryNext", topic: "iterators", replies: []any{emptyOpen}, run: withStream(func(ctx context.Context, s *ChangeStream) error {
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

func withCursor(use func(context.Context, *Cursor) error) func(context.Context, *Collection) error {
	return func(ctx context.Context, c *Collection) error {
		cursor, err := c.Find(ctx, anything)
		if err != nil {
			return err
		}
		return use(ctx, cursor)
	}
}

func withStream(use func(context.Context, *ChangeStream) error) func(context.Context, *Collection) error {
	return func(ctx context.Context, c *Collection) error {
		stream, err := c.Watch(ctx, Pipeline{})
		if err != nil {
			return err
		}
		return use(ctx, stream)
	}
}

func withDownload(use func(*GridFSDownloadStream) error) func(context.Context, *Collection) error {
	return func(ctx context.Context, c *Collection) error {
		stream, err := c.Database().GridFSBucket().OpenDownloadStream(ctx, 1)
		if err != nil {
			return err
		}
		return use(stream)
	}
}

func listCollectionNames(ctx context.Context, c *Collection) error {
	return second(c.Database().ListCollectionNames(ctx, anything))
}

func endTransaction(ctx context.Context, coll *Collection, end func(*Session, context.Context) error) error {
	session, err := coll.client.StartSession()
	if err != nil {
		return err
	}
	if err := session.StartTransaction(); err != nil {
		return err
	}
	if _, err := coll.InsertOne(NewSessionContext(ctx, session), bson.D{}); err != nil {
		return err
	}
	return end(session, ctx)
}

// ending inserts in a transaction, and ends it.
func ending(end func(*Session, context.Context) error) func(context.Context, *Collection) error {
	return func(ctx context.Context, c *Collection) error { return endTransaction(ctx, c, end) }
}

var endSession = func(s *Session, ctx context.Context) error { s.EndSession(ctx); return nil }

func disconnect(ctx context.Context, c *Collection) error {
	if err := c.client.Ping(ctx, nil); err != nil {
		return err
	}
	return c.client.Disconnect(ctx)
}
