package trial

import (
	"bytes"
	"cmp"
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
	ctx  context.Context
	coll *mongo.Collection
	Hooks
}

// Hooks are what a call depends on, and what sees it.
type Hooks struct {
	Given Call          // seven documents of which are in the collection
	Await time.Duration // how long servers wait for news
	// Wrote is called with the ID of each document before it is sent, and Returned when the call is over, except for the end of its
	// session.
	Wrote    func(id int)
	Returned func()
	In       func(value any) any // sees what the driver is to get, and returns it, or a document in another form
	Out      func(value any)     // sees a document or a token that the driver returned
}

// Make makes a call.
func (c Call) Make(ctx context.Context, coll *mongo.Collection, h Hooks) (any, error) {
	return ways[c.Way].run(calling{c, ctx, coll, h}, kinds[c.Kind].run)
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

// Document is one of a call's.
func (c Call) Document(i int) bson.D {
	return bson.D{{Key: "_id", Value: c.id(i)}, {Key: "call", Value: c.id(0)}}
}

// document is one that is there if the call succeeds, unless a transaction aborts.
func (c calling) document(i int) any {
	c.Wrote(c.id(i))
	return c.In(c.Document(i))
}

func (c calling) client() *mongo.Client { return c.coll.Database().Client() }

// in hands something to the driver.
func in[T any](c calling, value T) T { return c.In(value).(T) }

// documents are N documents; of four, two are the same.
func (c calling) documents() []any {
	docs := make([]any, c.N)
	for i := range docs {
		docs[i] = c.document(i % 3)
	}
	return in(c, docs)
}

// given selects the documents that are there, and theGiven one of them.
func (c calling) given() any         { return c.In(d("call", c.Given.id(0))) }
func (c calling) theGiven(i int) any { return c.In(d("_id", c.Given.id(i))) }

// one selects the call's own document, and increase is an update that shows how often it took place.
func (c calling) one() any      { return c.In(d("_id", c.id(0))) }
func (c calling) increase() any { return c.In(d("$inc", d("n", 1))) }

// kinds are the kinds of calls, by name. The table is read only.
var kinds = map[string]kind{
	"insertOne":  {"insert", inserts, func(c calling) (any, error) { return c.coll.InsertOne(c.ctx, c.document(0)) }},
	"insertMany": {"insert", inserts, func(c calling) (any, error) { return c.coll.InsertMany(c.ctx, c.documents()) }},
	"updateOne": {"update", increases, func(c calling) (any, error) {
		return c.coll.UpdateOne(c.ctx, c.one(), c.increase(), in(c, options.UpdateOne().SetUpsert(true)))
	}},
	"updateMany": {"update", isWrite, func(c calling) (any, error) {
		return c.coll.UpdateMany(c.ctx, c.given(), d("$set", d("x", 1)))
	}},
	"deleteOne":  {"delete", isRetryable, func(c calling) (any, error) { return c.coll.DeleteOne(c.ctx, c.theGiven(2)) }},
	"deleteMany": {"delete", isWrite, func(c calling) (any, error) { return c.coll.DeleteMany(c.ctx, c.In(d("call", c.id(0)))) }},
	"findOne":    {"find", isRead, func(c calling) (any, error) { return c.coll.FindOne(c.ctx, c.theGiven(3)).Raw() }},
	"find": {"find getMore", isRead, func(c calling) (any, error) {
		return c.all(c.coll.Find(c.ctx, c.given(), in(c, options.Find().SetBatchSize(2))))
	}},
	"findClose": {"find killCursors", isRead, func(c calling) (any, error) {
		cursor, err := c.coll.Find(c.ctx, c.given(), in(c, options.Find().SetBatchSize(1)))
		if err != nil {
			return nil, err
		}
		next := cursor.Next(c.ctx)
		c.Out(cursor.Current)
		return next, errors.Join(cursor.Err(), cursor.Close(c.ctx))
	}},
	"findOneAndUpdate": {"findAndModify", increases, func(c calling) (any, error) {
		return c.coll.FindOneAndUpdate(c.ctx, c.one(), c.increase(),
			in(c, options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After))).Raw()
	}},
	"download": {"find find", isRead, func(c calling) (any, error) {
		return c.coll.Database().GridFSBucket().DownloadToStream(c.ctx, "file", &bytes.Buffer{})
	}},
	"countDocuments":         {"aggregate", isRead, func(c calling) (any, error) { return c.coll.CountDocuments(c.ctx, c.given()) }},
	"estimatedDocumentCount": {"count", isRead, func(c calling) (any, error) { return c.coll.EstimatedDocumentCount(c.ctx) }},
	"aggregate": {"aggregate getMore", isRead, func(c calling) (any, error) {
		return c.all(c.coll.Aggregate(c.ctx, in(c, mongo.Pipeline{d("$match", c.given())}),
			in(c, options.Aggregate().SetBatchSize(2))))
	}},
	"aggregateOut": {"aggregate", isWrite, func(c calling) (any, error) {
		return c.all(c.coll.Aggregate(c.ctx, mongo.Pipeline{d("$match", c.given()), d("$out", "out")}))
	}},
	"distinct": {"distinct", isRead, func(c calling) (any, error) { return c.coll.Distinct(c.ctx, "call", bson.D{}).Raw() }},
	"bulkWrite": {"insert update delete", increases, func(c calling) (any, error) {
		return c.coll.BulkWrite(c.ctx, in(c, []mongo.WriteModel{
			mongo.NewInsertOneModel().SetDocument(c.document(1)),
			mongo.NewInsertOneModel().SetDocument(c.document(max(2, c.N)%4 + 1)), // the same if N is 4
			mongo.NewUpdateOneModel().SetFilter(c.one()).SetUpdate(c.increase()).SetUpsert(true),
			mongo.NewDeleteOneModel().SetFilter(c.In(d("_id", c.id(9)))),
		}), in(c, options.BulkWrite().SetOrdered(c.N%2 == 0)))
	}},
	"clientBulkWrite": {"bulkWrite", increases, func(c calling) (any, error) {
		return c.client().BulkWrite(c.ctx, in(c, []mongo.ClientBulkWrite{c.insertion(1), c.increasing()}),
			in(c, options.ClientBulkWrite().SetVerboseResults(c.N > 1)))
	}},
	"clientBulkWriteMany": {"bulkWrite getMore", increases, func(c calling) (any, error) {
		writes := []mongo.ClientBulkWrite{c.increasing()}
		for i := range 4 {
			writes = append(writes, c.insertion(1+i%(2+c.N)))
		}
		return c.client().BulkWrite(c.ctx, in(c, writes),
			in(c, options.ClientBulkWrite().SetVerboseResults(c.N > 1).SetOrdered(c.N == 2)))
	}},
	"listCollections": {"listCollections", isRead, func(c calling) (any, error) {
		return c.all(c.coll.Database().ListCollections(c.ctx, bson.D{}))
	}},
	"listDatabases": {"listDatabases", isRead, func(c calling) (any, error) { return c.client().ListDatabaseNames(c.ctx, bson.D{}) }},
	"listIndexes":   {"listIndexes", isRead, func(c calling) (any, error) { return c.all(c.coll.Indexes().List(c.ctx)) }},
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
		return c.all(c.coll.Database().RunCommandCursor(c.ctx, append(d("find", c.coll.Name()), d("batchSize", 3)...)))
	}},
	"watch": {"aggregate getMore", inserts, func(c calling) (any, error) {
		stream, err := c.coll.Watch(c.ctx, mongo.Pipeline{}, in(c, options.ChangeStream().SetMaxAwaitTime(c.Await)))
		if err != nil {
			return nil, err
		}
		if _, err = c.coll.InsertMany(c.ctx, c.documents()); err != nil {
			return 0, errors.Join(err, stream.Err(), stream.Close(c.ctx))
		}
		return c.polled(stream, &stream.Current, 20)
	}},
	"tailable": {"find getMore killCursors", isRead, func(c calling) (any, error) {
		cursor, err := c.coll.Find(c.ctx, c.given(),
			in(c, options.Find().SetBatchSize(2).SetCursorType(options.TailableAwait).SetMaxAwaitTime(c.Await)))
		if err != nil {
			return nil, err
		}
		return c.polled(cursor, &cursor.Current, 10)
	}},
	// Writes is what transactions mostly consist of.
	"writes": {"insert update", increases, func(c calling) (any, error) {
		if _, err := c.coll.InsertMany(c.ctx, in(c, []any{c.document(1), c.document(2)})); err != nil {
			return nil, err
		}
		time.Sleep(3 * time.Millisecond)
		result, err := c.coll.UpdateOne(c.ctx, c.one(), c.increase(), in(c, options.UpdateOne().SetUpsert(true)))
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
		session, err := c.client().StartSession(opts)
		if err != nil {
			return nil, err
		}
		defer func() { // it takes the time that it takes, and the call has none of it: applications give EndSession no deadline
			c.Returned()
			for _, value := range []any{session.ClusterTime(), session.OperationTime(), session.ID()} {
				c.Out(value)
			}
			session.EndSession(context.WithValue(context.Background(), callKey{}, c.ID))
		}()
		c.ctx = mongo.NewSessionContext(c.ctx, session)
		return run(c, call, session)
	}
}

// polled asks so many times for a next document, also after an error, and returns how often there was one, and the first error.
func (c calling) polled(cursor interface {
	TryNext(ctx context.Context) bool
	Err() error
	Close(ctx context.Context) error
}, current *bson.Raw, times int) (result any, err error) {
	seen, tokens := 0, []string(nil)
	for range times {
		if cursor.TryNext(c.ctx) {
			seen++
			c.Out(*current)
		}
		err = cmp.Or(err, cursor.Err())
		if stream, ok := cursor.(*mongo.ChangeStream); ok {
			c.Out(stream.ResumeToken())
			tokens = append(tokens, stream.ResumeToken().String())
		}
	}
	return fmt.Sprint(seen, slices.Compact(tokens)), errors.Join(err, cursor.Close(c.ctx))
}

// all returns the number of documents of a cursor.
func (c calling) all(cursor *mongo.Cursor, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	var docs []bson.Raw
	err = cursor.All(c.ctx, &docs)
	for _, doc := range docs {
		c.Out(doc)
	}
	return len(docs), err
}

// insertion and increasing are statements of client bulk writes.
func (c calling) insertion(i int) mongo.ClientBulkWrite {
	return mongo.ClientBulkWrite{Database: "db", Collection: c.coll.Name(),
		Model: mongo.NewClientInsertOneModel().SetDocument(c.document(i))}
}

func (c calling) increasing() mongo.ClientBulkWrite {
	return mongo.ClientBulkWrite{Database: "db", Collection: c.coll.Name(),
		Model: mongo.NewClientUpdateOneModel().SetFilter(c.one()).SetUpdate(c.increase()).SetUpsert(true)}
}

var errGivenUp = errors.New("the application gives up")
