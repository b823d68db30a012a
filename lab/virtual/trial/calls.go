package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// kind is a kind of call.
type kind struct {
	commands string // that it sends
	effect   effect
	run      runner
}

type runner = func(calling) (any, error)

// calling is a call of an application.
type calling struct {
	Call
	ctx    context.Context
	client *mongo.Client
	coll   *mongo.Collection
	// wrote is called with the ID of each document before it is sent, and returned when the call is over, except for the end of its
	// session.
	wrote    func(id int)
	returned func()
}

// effect is what a call does, and how a trial can tell what an acknowledged one has done.
type effect int

const (
	isRead      effect = iota
	isCommand          // of any kind
	isWrite            // that must not be sent twice
	isRetryable        // a write that may be
	inserts            // so is this one of documents c.ID*10+i
	increases          // and this one of n of the document c.ID*10, by one
)

func names[T any](of map[string]T) []string { return slices.Sorted(maps.Keys(of)) }

func d(key string, value any) bson.D { return bson.D{{Key: key, Value: value}} }

// id is a document's _id that no other call uses.
func (c Call) id(i int) int { return c.ID*10 + i }

// document is one that is there if the call succeeds, unless a transaction aborts.
func (c calling) document(i int) bson.D {
	c.wrote(c.id(i))
	return bson.D{{Key: "_id", Value: c.id(i)}, {Key: "call", Value: c.ID}}
}

// documents are N documents; of four, two are the same.
func (c calling) documents() []any {
	docs := make([]any, c.N)
	for i := range docs {
		docs[i] = c.document(i % 3)
	}
	return docs
}

// one selects the call's own document, and increase is an update that shows how often it took place.
func (c Call) one() bson.D { return d("_id", c.id(0)) }
func increase() bson.D     { return d("$inc", d("n", 1)) }

// kinds are the kinds of calls, by name. The table is read only.
var kinds = map[string]kind{
	"insertOne":  {"insert", inserts, func(c calling) (any, error) { return c.coll.InsertOne(c.ctx, c.document(0)) }},
	"insertMany": {"insert", inserts, func(c calling) (any, error) { return c.coll.InsertMany(c.ctx, c.documents()) }},
	"updateOne": {"update", increases, func(c calling) (any, error) {
		return c.coll.UpdateOne(c.ctx, c.one(), increase(), options.UpdateOne().SetUpsert(true))
	}},
	"updateMany": {"update", isWrite, func(c calling) (any, error) {
		return c.coll.UpdateMany(c.ctx, d("call", 0), d("$set", d("x", 1)))
	}},
	"deleteOne":  {"delete", isRetryable, func(c calling) (any, error) { return c.coll.DeleteOne(c.ctx, d("_id", 2)) }},
	"deleteMany": {"delete", isWrite, func(c calling) (any, error) { return c.coll.DeleteMany(c.ctx, d("call", -1)) }},
	"findOne":    {"find", isRead, func(c calling) (any, error) { return c.coll.FindOne(c.ctx, d("_id", 3)).Raw() }},
	"find": {"find getMore", isRead, func(c calling) (any, error) {
		return all(c.ctx)(c.coll.Find(c.ctx, d("call", 0), options.Find().SetBatchSize(2)))
	}},
	"findClose": {"find killCursors", isRead, func(c calling) (any, error) {
		cursor, err := c.coll.Find(c.ctx, d("call", 0), options.Find().SetBatchSize(1))
		if err != nil {
			return nil, err
		}
		return cursor.Next(c.ctx), errors.Join(cursor.Err(), cursor.Close(c.ctx))
	}},
	"findOneAndUpdate": {"findAndModify", increases, func(c calling) (any, error) {
		return c.coll.FindOneAndUpdate(c.ctx, c.one(), increase(),
			options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)).Raw()
	}},
	"download": {"find find", isRead, func(c calling) (any, error) {
		var file bytes.Buffer
		return c.coll.Database().GridFSBucket().DownloadToStream(c.ctx, "file", &file)
	}},
	"countDocuments":         {"aggregate", isRead, func(c calling) (any, error) { return c.coll.CountDocuments(c.ctx, d("call", 0)) }},
	"estimatedDocumentCount": {"count", isRead, func(c calling) (any, error) { return c.coll.EstimatedDocumentCount(c.ctx) }},
	"aggregate": {"aggregate getMore", isRead, func(c calling) (any, error) {
		return all(c.ctx)(c.coll.Aggregate(c.ctx, mongo.Pipeline{d("$match", d("call", 0))}, options.Aggregate().SetBatchSize(2)))
	}},
	"aggregateOut": {"aggregate", isWrite, func(c calling) (any, error) {
		return all(c.ctx)(c.coll.Aggregate(c.ctx, mongo.Pipeline{d("$match", d("call", 0)), d("$out", "out")}))
	}},
	"distinct": {"distinct", isRead, func(c calling) (any, error) { return c.coll.Distinct(c.ctx, "call", bson.D{}).Raw() }},
	"bulkWrite": {"insert update delete", increases, func(c calling) (any, error) {
		return c.coll.BulkWrite(c.ctx, []mongo.WriteModel{
			mongo.NewInsertOneModel().SetDocument(c.document(1)),
			mongo.NewInsertOneModel().SetDocument(c.document(max(2, c.N)%4 + 1)), // the same if N is 4
			mongo.NewUpdateOneModel().SetFilter(c.one()).SetUpdate(increase()).SetUpsert(true),
			mongo.NewDeleteOneModel().SetFilter(d("_id", c.id(9))),
		}, options.BulkWrite().SetOrdered(c.N%2 == 0))
	}},
	"clientBulkWrite": {"bulkWrite", increases, func(c calling) (any, error) {
		return c.client.BulkWrite(c.ctx, []mongo.ClientBulkWrite{c.insertion(1), c.increase()},
			options.ClientBulkWrite().SetVerboseResults(c.N > 1))
	}},
	"clientBulkWriteMany": {"bulkWrite getMore", increases, func(c calling) (any, error) {
		writes := []mongo.ClientBulkWrite{c.increase()}
		for i := range 4 {
			writes = append(writes, c.insertion(1+i%(2+c.N)))
		}
		return c.client.BulkWrite(c.ctx, writes, options.ClientBulkWrite().SetVerboseResults(c.N > 1).SetOrdered(c.N == 2))
	}},
	"listCollections": {"listCollections", isRead, func(c calling) (any, error) {
		return all(c.ctx)(c.coll.Database().ListCollections(c.ctx, bson.D{}))
	}},
	"listDatabases": {"listDatabases", isRead, func(c calling) (any, error) { return c.client.ListDatabaseNames(c.ctx, bson.D{}) }},
	"listIndexes":   {"listIndexes", isRead, func(c calling) (any, error) { return all(c.ctx)(c.coll.Indexes().List(c.ctx)) }},
	"createIndex": {"createIndexes", isWrite, func(c calling) (any, error) {
		return c.coll.Indexes().CreateOne(c.ctx, mongo.IndexModel{Keys: d("x", 1)})
	}},
	"createCollection": {"create", isWrite, func(c calling) (any, error) {
		return nil, c.coll.Database().CreateCollection(c.ctx, "new")
	}},
	"runCommand": {"ping", isCommand, func(c calling) (any, error) {
		return nil, c.coll.Database().RunCommand(c.ctx, d("ping", 1)).Err()
	}},
	"runCommandCursor": {"find getMore", isCommand, func(c calling) (any, error) {
		return all(c.ctx)(c.coll.Database().RunCommandCursor(c.ctx, append(d("find", "c"), d("batchSize", 3)...)))
	}},
	"watch": {"aggregate getMore", inserts, func(c calling) (any, error) {
		stream, err := c.coll.Watch(c.ctx, mongo.Pipeline{}, options.ChangeStream().SetMaxAwaitTime(100*time.Millisecond))
		if err != nil {
			return nil, err
		}
		if _, err = c.coll.InsertMany(c.ctx, c.documents()); err != nil {
			return 0, errors.Join(err, stream.Err(), stream.Close(c.ctx))
		}
		return polled(c.ctx, stream, 20)
	}},
	"tailable": {"find getMore killCursors", isRead, func(c calling) (any, error) {
		cursor, err := c.coll.Find(c.ctx, d("call", 0),
			options.Find().SetBatchSize(2).SetCursorType(options.TailableAwait).SetMaxAwaitTime(50*time.Millisecond))
		if err != nil {
			return nil, err
		}
		return polled(c.ctx, cursor, 10)
	}},
	// Writes is what transactions mostly consist of.
	"writes": {"insert update", increases, func(c calling) (any, error) {
		if _, err := c.coll.InsertMany(c.ctx, []any{c.document(1), c.document(2)}); err != nil {
			return nil, err
		}
		time.Sleep(3 * time.Millisecond)
		result, err := c.coll.UpdateOne(c.ctx, c.one(), increase(), options.UpdateOne().SetUpsert(true))
		if err == nil && c.N == 3 {
			return nil, errGivenUp
		}
		time.Sleep(3 * time.Millisecond)
		return result, err
	}},
}

// ofSets are kinds and ways that a standalone does not support, rare the kinds that plans seldom have.
var ofSets, rare = []string{"watch", "causal", "snapshot", "transaction", "aborts", "within"},
	[]string{"writes", "clientBulkWriteMany", "tailable"}

// way is how a call is made.
type way struct {
	command string // that it sends in the end
	run     func(calling, runner) (any, error)
}

// ways are all of them, by name. The table is read only.
var ways = map[string]way{
	"": {"", func(c calling, run runner) (any, error) { return run(c) }},
	"deadline": {"", func(c calling, run runner) (any, error) {
		ctx, cancel := context.WithTimeout(c.ctx, 10*time.Minute)
		defer cancel()
		c.ctx = ctx
		return run(c)
	}},
	"session":  {"", inSession(nil, func(c calling, run runner, _ *mongo.Session) (any, error) { return run(c) })},
	"causal":   {"", inSession(options.Session().SetCausalConsistency(true), twice)},
	"snapshot": {"", inSession(options.Session().SetSnapshot(true), twice)},
	"transaction": {"commitTransaction", inSession(nil, func(c calling, run runner, s *mongo.Session) (any, error) {
		if err := s.StartTransaction(); err != nil {
			return nil, err
		}
		result, err := run(c)
		if err != nil {
			return nil, errors.Join(err, s.AbortTransaction(c.ctx))
		}
		return result, s.CommitTransaction(c.ctx)
	})},
	"aborts": {"abortTransaction", inSession(nil, func(c calling, run runner, s *mongo.Session) (any, error) {
		if err := s.StartTransaction(); err != nil {
			return nil, err
		}
		_, err := run(c)
		return nil, errors.Join(err, s.AbortTransaction(c.ctx))
	})},
	"within": {"commitTransaction", inSession(nil, func(c calling, run runner, s *mongo.Session) (any, error) {
		times := 0
		return s.WithTransaction(c.ctx, func(ctx context.Context) (any, error) {
			if times++; times > 10 { // how often within two minutes would be by chance
				return nil, errGivenUp
			}
			c.ctx = ctx
			return run(c)
		})
	})},
}

// twice makes a call, and then another one in the same session, which shows what the session knows of the first.
func twice(c calling, run runner, _ *mongo.Session) (any, error) {
	result, err := run(c)
	if err == nil {
		_, err = c.coll.Distinct(c.ctx, "call", bson.D{}).Raw()
	}
	return result, err
}

// inSession makes a call in a session of its own.
func inSession(opts options.Lister[options.SessionOptions], run func(calling, runner, *mongo.Session) (any, error),
) func(calling, runner) (any, error) {
	return func(c calling, call runner) (any, error) {
		session, err := c.client.StartSession(opts)
		if err != nil {
			return nil, err
		}
		defer func() { // it takes the time that it takes, and the call has none of it: applications give EndSession no deadline
			c.returned()
			session.EndSession(context.WithValue(context.Background(), callKey{}, c.ID))
		}()
		c.ctx = mongo.NewSessionContext(c.ctx, session)
		return run(c, call, session)
	}
}

// polled asks so many times for a next document, and returns how often there was one.
func polled(ctx context.Context, cursor interface {
	TryNext(ctx context.Context) bool
	Err() error
	Close(ctx context.Context) error
}, times int) (result any, err error) {
	var seen int
	var tokens []string
	for range times {
		if cursor.TryNext(ctx) {
			seen++
		}
		if stream, ok := cursor.(*mongo.ChangeStream); ok {
			tokens = append(tokens, stream.ResumeToken().String())
		}
	}
	return fmt.Sprint(seen, slices.Compact(tokens)), errors.Join(cursor.Err(), cursor.Close(ctx))
}

// all returns the number of documents of a cursor.
func all(ctx context.Context) func(*mongo.Cursor, error) (any, error) {
	return func(cursor *mongo.Cursor, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		var docs []bson.D
		err = cursor.All(ctx, &docs)
		return len(docs), err
	}
}

// insertion and increase are statements of client bulk writes.
func (c calling) insertion(i int) mongo.ClientBulkWrite {
	return mongo.ClientBulkWrite{Database: "db", Collection: "c", Model: mongo.NewClientInsertOneModel().SetDocument(c.document(i))}
}

func (c calling) increase() mongo.ClientBulkWrite {
	return mongo.ClientBulkWrite{Database: "db", Collection: "c",
		Model: mongo.NewClientUpdateOneModel().SetFilter(c.one()).SetUpdate(increase()).SetUpsert(true)}
}

var errGivenUp = errors.New("the application gives up")
