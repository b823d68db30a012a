package trial

import (
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

	"mongofork/lab/internal/clock"
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
	*application
	Call
	ctx context.Context
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

func kindNames() []string { return slices.Sorted(maps.Keys(kinds)) }

func d(key string, value any) bson.D { return bson.D{{Key: key, Value: value}} }

// id is a document's _id that no other call uses.
func (c Call) id(i int) int { return c.ID*10 + i }

// document is one that is there if the call succeeds, unless it is taken back.
func (c calling) document(i int) bson.D {
	c.note(func() {
		call := c.of(c.ID)
		call.written = append(call.written, c.id(i))
	})
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

// increase is an update that shows how often it took place.
func increase() bson.D { return d("$inc", d("n", 1)) }

const inTransactions = "insert update commitTransaction"

var causally = options.Session().SetCausalConsistency(true)

// kinds are the kinds of calls, by name. The table is read only.
var kinds = map[string]kind{
	"insertOne": {"insert", inserts, func(c calling) (any, error) {
		c.N = 1
		return c.coll.InsertOne(c.ctx, c.document(0))
	}},
	"insertMany": {"insert", inserts, func(c calling) (any, error) { return c.coll.InsertMany(c.ctx, c.documents()) }},
	"updateOne": {"update", increases, func(c calling) (any, error) {
		return c.coll.UpdateOne(c.ctx, d("_id", c.id(0)), increase(), options.UpdateOne().SetUpsert(true))
	}},
	"updateMany": {"update", isWrite, func(c calling) (any, error) {
		return c.coll.UpdateMany(c.ctx, d("call", 0), d("$set", d("x", 1)))
	}},
	"replaceOne": {"update", isRetryable, func(c calling) (any, error) {
		return c.coll.ReplaceOne(c.ctx, d("_id", 1), d("call", 0), options.Replace().SetUpsert(true))
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
		return c.coll.FindOneAndUpdate(c.ctx, d("_id", c.id(0)), increase(),
			options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)).Raw()
	}},
	"findOneAndReplace": {"findAndModify", isRetryable, func(c calling) (any, error) {
		return c.coll.FindOneAndReplace(c.ctx, d("_id", 4), d("call", 0)).Raw()
	}},
	"countDocuments":         {"aggregate", isRead, func(c calling) (any, error) { return c.coll.CountDocuments(c.ctx, d("call", 0)) }},
	"estimatedDocumentCount": {"count", isRead, func(c calling) (any, error) { return c.coll.EstimatedDocumentCount(c.ctx) }},
	"distinct": {"distinct", isRead, func(c calling) (any, error) {
		return c.coll.Distinct(c.ctx, "call", bson.D{}).Raw()
	}},
	"aggregate": {"aggregate getMore", isRead, func(c calling) (any, error) {
		return all(c.ctx)(c.coll.Aggregate(c.ctx, mongo.Pipeline{d("$match", d("call", 0))}, options.Aggregate().SetBatchSize(2)))
	}},
	"aggregateOut": {"aggregate", isWrite, func(c calling) (any, error) {
		return all(c.ctx)(c.coll.Aggregate(c.ctx, mongo.Pipeline{d("$match", d("call", 0)), d("$out", "out")}))
	}},
	"bulkWrite": {"insert update delete", increases, func(c calling) (any, error) {
		return c.coll.BulkWrite(c.ctx, []mongo.WriteModel{
			mongo.NewInsertOneModel().SetDocument(c.document(1)),
			mongo.NewInsertOneModel().SetDocument(c.document(max(2, c.N)%4 + 1)), // the same if N is 4
			mongo.NewUpdateOneModel().SetFilter(d("_id", c.id(0))).SetUpdate(increase()).SetUpsert(true),
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
	"dropIndex": {"dropIndexes", isWrite, func(c calling) (any, error) { return nil, c.coll.Indexes().DropOne(c.ctx, "x_1") }},
	"runCommand": {"ping", isCommand, func(c calling) (any, error) {
		return nil, c.coll.Database().RunCommand(c.ctx, d("ping", 1)).Err()
	}},
	"ping": {"ping", isCommand, func(c calling) (any, error) { return nil, c.client.Ping(c.ctx, nil) }},
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
	"causal": {"insert update find", inserts, inSession(causally, func(c calling) (any, error) {
		if _, err := c.coll.InsertOne(c.ctx, c.document(0)); err != nil {
			return nil, err
		}
		_ = clock.Wait(c.ctx, time.Second) // or the time would be the same
		if _, err := c.coll.UpdateOne(c.ctx, d("_id", c.id(0)), d("$set", d("x", 1))); err != nil {
			return nil, err
		}
		return c.coll.FindOne(c.ctx, d("_id", c.id(0))).Raw()
	})},
	"snapshot": {"find distinct", isRead, inSession(options.Session().SetSnapshot(true), func(c calling) (any, error) {
		if _, err := c.coll.FindOne(c.ctx, d("_id", 3)).Raw(); err != nil {
			return nil, err
		}
		return c.coll.Distinct(c.ctx, "call", bson.D{}).Raw()
	})},
	"tailable": {"find getMore killCursors", isRead, func(c calling) (any, error) {
		cursor, err := c.coll.Find(c.ctx, d("call", 0),
			options.Find().SetBatchSize(2).SetCursorType(options.TailableAwait).SetMaxAwaitTime(50*time.Millisecond))
		if err != nil {
			return nil, err
		}
		return polled(c.ctx, cursor, 10)
	}},
	"transaction": {inTransactions, increases, inSession(nil, func(c calling) (any, error) { return nil, c.transaction(c.ctx, true) })},
	"abortedTransaction": {"insert update abortTransaction", isWrite, inSession(nil, func(c calling) (any, error) {
		return nil, c.transaction(c.ctx, false)
	})},
	"withTransaction": {inTransactions + " abortTransaction", increases, inSession(nil, func(c calling) (any, error) {
		times, session := 0, mongo.SessionFromContext(c.ctx)
		result, err := session.WithTransaction(c.ctx, func(ctx context.Context) (any, error) {
			if times++; times > 10 { // how often within two minutes would be by chance
				return nil, errGivenUp
			}
			return nil, c.writes(ctx)
		})
		return result, c.again(c.ctx, session, err)
	})},
}

// featured are the kinds that only scenarios have; sets, or routers, have those that a standalone does not.
var featured, ofSets = []string{"causal", "clientBulkWriteMany", "snapshot", "tailable"},
	[]string{"watch", "causal", "snapshot", "transaction", "abortedTransaction", "withTransaction"}

// inSession makes a call in a session of its own.
func inSession(opts options.Lister[options.SessionOptions], run runner) runner {
	return func(c calling) (any, error) {
		session, err := c.client.StartSession(opts)
		if err != nil {
			return nil, err
		}
		defer c.end(session)
		c.ctx = mongo.NewSessionContext(c.ctx, session)
		return run(c)
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
		var docs []bson.Raw
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
		Model: mongo.NewClientUpdateOneModel().SetFilter(d("_id", c.id(0))).SetUpdate(increase()).SetUpsert(true)}
}

// writes are what a transaction does.
func (c calling) writes(ctx context.Context) error {
	if _, err := c.coll.InsertMany(ctx, []any{c.document(1), c.document(2)}); err != nil {
		return err
	}
	time.Sleep(3 * time.Millisecond)
	_, err := c.coll.UpdateOne(ctx, d("_id", c.id(0)), increase(), options.UpdateOne().SetUpsert(true))
	if err == nil && c.N == 3 {
		return fmt.Errorf("the application gives up: %w", errGivenUp)
	}
	time.Sleep(3 * time.Millisecond)
	return err
}

// end ends a session. It takes the time that it takes, and the call has none of it: applications give EndSession no deadline.
func (c calling) end(session *mongo.Session) {
	c.returns()
	c.Kind = endSession
	session.EndSession(context.WithValue(context.Background(), callKey{}, c.Call))
}

// returns notes that the call is over, but for what ends its session.
func (c calling) returns() {
	c.note(func() { c.of(c.ID).returned = cmp.Or(c.of(c.ID).returned, c.now()) })
}

// again ends a transaction once more after a failed commit, as the application may whose context is over. It returns the commit's error.
func (c calling) again(ctx context.Context, session *mongo.Session, err error) error {
	if err == nil || c.Again == "" {
		return err
	}
	c.returns()
	again := c.Call
	again.ID, again.Kind = c.ID+second, c.Again+"Again"
	ctx, cancel := context.WithTimeout(context.WithValue(context.WithoutCancel(ctx), callKey{}, again), 2*time.Second)
	defer cancel()
	time.Sleep(100 * time.Millisecond)
	end := session.CommitTransaction
	if c.Again == "abort" {
		end = session.AbortTransaction
	}
	c.ended(again.ID, nil, end(ctx))
	return err
}

var (
	errGivenUp = errors.New("given up")
	errPanic   = errors.New("panic")
)

func (c calling) transaction(ctx context.Context, commit bool) error {
	session := mongo.SessionFromContext(ctx)
	if err := session.StartTransaction(); err != nil {
		return err
	}
	if err := c.writes(ctx); err != nil || !commit {
		return errors.Join(err, session.AbortTransaction(ctx))
	}
	return c.again(ctx, session, session.CommitTransaction(ctx))
}
