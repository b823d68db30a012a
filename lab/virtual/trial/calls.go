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
	commands []string // that it sends
	set      bool     // whether it needs more than a standalone
	single   bool     // whether it is one command
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

// one, several and inSet are kinds of one command, of several, and of several that a standalone does not have.
func one(command string, effect effect, run runner) kind {
	return kind{[]string{command}, false, true, effect, run}
}

func several(effect effect, run runner, commands ...string) kind {
	return kind{commands, false, false, effect, run}
}

func inSet(effect effect, run runner, commands ...string) kind {
	return kind{commands, true, false, effect, run}
}

// effect is what an acknowledged call has done, each of the c.N times.
type effect int

const (
	nothing   effect = iota
	inserts          // documents c.ID*10+i
	increases        // n of the document c.ID*10 by one
)

func kindNames() []string { return slices.Sorted(maps.Keys(kinds)) }

func d(key string, value any) bson.D { return bson.D{{Key: key, Value: value}} }

// id is a document's _id that no other call uses.
func (c Call) id(i int) int { return c.ID*10 + i }

func (c Call) document(i int) bson.D {
	return bson.D{{Key: "_id", Value: c.id(i)}, {Key: "call", Value: c.ID}}
}

// documents are N documents; of four, two are the same.
func (c Call) documents() []any {
	docs := make([]any, c.N)
	for i := range docs {
		docs[i] = c.document(i % 3)
	}
	return docs
}

// increase is an update that shows how often it took place.
func increase() bson.D { return d("$inc", d("n", 1)) }

// written are the documents of a call that are inserted if it succeeds, by their place.
func (c Call) written() (all []int) {
	switch c.Kind {
	case "insertMany", "watch":
		for i := range min(c.N, 3) {
			all = append(all, i)
		}
	case "bulkWrite":
		return []int{1, max(2, c.N)%4 + 1}
	case "clientBulkWrite":
		return []int{1}
	case "clientBulkWriteMany":
		for i := range 4 {
			all = append(all, 1+i%(2+c.N))
		}
	case "transaction", "withTransaction":
		return []int{1, 2}
	}
	return all
}

// results are what reads return while nothing is written, by the kind of call.
func (p Plan) results() map[string]string {
	const there = "7"
	return map[string]string{"estimatedDocumentCount": there, "countDocuments": there, "find": there, "aggregate": there,
		"findOne": `{"_id": {"$numberInt":"3"},"call": {"$numberInt":"0"}}`, "distinct": `[{"$numberInt":"0"}]`}
}

// onlyReads reports whether the plan has no other calls than those, and no replies are altered.
func (p Plan) onlyReads() bool {
	return !slices.ContainsFunc(p.Calls, func(c Call) bool { return p.results()[c.Kind] == "" }) &&
		!p.Lacks()
}

// kinds are the kinds of calls, by name. The table is read only.
var kinds = map[string]kind{
	"insertOne": one("insert", inserts, func(c calling) (any, error) {
		c.N = 1
		return c.coll.InsertOne(c.ctx, c.document(0))
	}),
	"insertMany": one("insert", inserts, func(c calling) (any, error) { return c.coll.InsertMany(c.ctx, c.documents()) }),
	"updateOne": one("update", increases, func(c calling) (any, error) {
		return c.coll.UpdateOne(c.ctx, d("_id", c.id(0)), increase(), options.UpdateOne().SetUpsert(true))
	}),
	"updateMany": one("update", nothing, func(c calling) (any, error) {
		return c.coll.UpdateMany(c.ctx, d("call", 0), d("$set", d("x", 1)))
	}),
	"replaceOne": one("update", nothing, func(c calling) (any, error) {
		return c.coll.ReplaceOne(c.ctx, d("_id", 1), d("call", 0), options.Replace().SetUpsert(true))
	}),
	"deleteOne":  one("delete", nothing, func(c calling) (any, error) { return c.coll.DeleteOne(c.ctx, d("_id", 2)) }),
	"deleteMany": one("delete", nothing, func(c calling) (any, error) { return c.coll.DeleteMany(c.ctx, d("call", -1)) }),
	"findOne":    one("find", nothing, func(c calling) (any, error) { return c.coll.FindOne(c.ctx, d("_id", 3)).Raw() }),
	"find": several(nothing, func(c calling) (any, error) {
		return all(c.ctx)(c.coll.Find(c.ctx, d("call", 0), options.Find().SetBatchSize(2)))
	}, "find", "getMore"),
	"findClose": several(nothing, func(c calling) (any, error) {
		cursor, err := c.coll.Find(c.ctx, d("call", 0), options.Find().SetBatchSize(1))
		if err != nil {
			return nil, err
		}
		return cursor.Next(c.ctx), errors.Join(cursor.Err(), cursor.Close(c.ctx))
	}, "find", "killCursors"),
	"findOneAndUpdate": one("findAndModify", increases, func(c calling) (any, error) {
		return none(c.coll.FindOneAndUpdate(c.ctx, d("_id", c.id(0)), increase(), options.FindOneAndUpdate().SetUpsert(true)).Raw())
	}),
	"findOneAndReplace": one("findAndModify", nothing, func(c calling) (any, error) {
		return c.coll.FindOneAndReplace(c.ctx, d("_id", 4), d("call", 0)).Raw()
	}),
	"findOneAndDelete": one("findAndModify", nothing, func(c calling) (any, error) {
		return none(c.coll.FindOneAndDelete(c.ctx, d("_id", 5)).Raw())
	}),
	"countDocuments": one("aggregate", nothing, func(c calling) (any, error) {
		return c.coll.CountDocuments(c.ctx, d("call", 0))
	}),
	"estimatedDocumentCount": one("count", nothing, func(c calling) (any, error) { return c.coll.EstimatedDocumentCount(c.ctx) }),
	"distinct": one("distinct", nothing, func(c calling) (any, error) {
		return c.coll.Distinct(c.ctx, "call", bson.D{}).Raw()
	}),
	"aggregate": several(nothing, func(c calling) (any, error) {
		return all(c.ctx)(c.coll.Aggregate(c.ctx, mongo.Pipeline{d("$match", d("call", 0))}, options.Aggregate().SetBatchSize(2)))
	}, "aggregate", "getMore"),
	"aggregateOut": one("aggregate", nothing, func(c calling) (any, error) {
		return all(c.ctx)(c.coll.Aggregate(c.ctx, mongo.Pipeline{d("$match", d("call", 0)), d("$out", "out")}))
	}),
	"bulkWrite": several(increases, func(c calling) (any, error) {
		return c.coll.BulkWrite(c.ctx, []mongo.WriteModel{
			mongo.NewInsertOneModel().SetDocument(c.document(1)),
			mongo.NewInsertOneModel().SetDocument(c.document(max(2, c.N)%4 + 1)), // the same if N is 4
			mongo.NewUpdateOneModel().SetFilter(d("_id", c.id(0))).SetUpdate(increase()).SetUpsert(true),
			mongo.NewDeleteOneModel().SetFilter(d("_id", c.id(9))),
		}, options.BulkWrite().SetOrdered(c.N%2 == 0))
	}, "insert", "update", "delete"),
	"clientBulkWrite": several(increases, func(c calling) (any, error) {
		return c.client.BulkWrite(c.ctx, []mongo.ClientBulkWrite{c.insertion(1), c.increase()},
			options.ClientBulkWrite().SetVerboseResults(c.N > 1))
	}, "bulkWrite"),
	"clientBulkWriteMany": several(increases, func(c calling) (any, error) {
		writes := []mongo.ClientBulkWrite{c.increase()}
		for i := range 4 {
			writes = append(writes, c.insertion(1+i%(2+c.N)))
		}
		return c.client.BulkWrite(c.ctx, writes, options.ClientBulkWrite().SetVerboseResults(c.N > 1).SetOrdered(c.N == 2))
	}, "bulkWrite", "getMore"),
	"listCollections": one("listCollections", nothing, func(c calling) (any, error) {
		return all(c.ctx)(c.coll.Database().ListCollections(c.ctx, bson.D{}))
	}),
	"listDatabases": one("listDatabases", nothing, func(c calling) (any, error) { return c.client.ListDatabaseNames(c.ctx, bson.D{}) }),
	"listIndexes":   one("listIndexes", nothing, func(c calling) (any, error) { return all(c.ctx)(c.coll.Indexes().List(c.ctx)) }),
	"createIndex": one("createIndexes", nothing, func(c calling) (any, error) {
		return c.coll.Indexes().CreateOne(c.ctx, mongo.IndexModel{Keys: d("x", 1)})
	}),
	"dropIndex": one("dropIndexes", nothing, func(c calling) (any, error) { return nil, c.coll.Indexes().DropOne(c.ctx, "x_1") }),
	"createCollection": one("create", nothing, func(c calling) (any, error) {
		return nil, c.coll.Database().CreateCollection(c.ctx, "other")
	}),
	"dropCollection": one("drop", nothing, func(c calling) (any, error) {
		return nil, c.coll.Database().Collection("other").Drop(c.ctx)
	}),
	"runCommand": one("ping", nothing, func(c calling) (any, error) {
		return nil, c.coll.Database().RunCommand(c.ctx, d("ping", 1)).Err()
	}),
	"ping": one("ping", nothing, func(c calling) (any, error) { return nil, c.client.Ping(c.ctx, nil) }),
	"watch": inSet(inserts, func(c calling) (any, error) {
		stream, err := c.coll.Watch(c.ctx, mongo.Pipeline{}, options.ChangeStream().SetMaxAwaitTime(100*time.Millisecond))
		if err != nil {
			return nil, err
		}
		if _, err = c.coll.InsertMany(c.ctx, c.documents()); err != nil {
			return 0, errors.Join(err, stream.Err(), stream.Close(c.ctx))
		}
		return polled(c.ctx, stream, 20)
	}, "aggregate", "getMore"),
	"causal": inSet(inserts, inSession(options.Session().SetCausalConsistency(true), func(c calling) (any, error) {
		if _, err := c.coll.InsertOne(c.ctx, c.document(0)); err != nil {
			return nil, err
		}
		pause(c.ctx, false) // or the time would be the same
		if _, err := c.coll.UpdateOne(c.ctx, d("_id", c.id(0)), d("$set", d("x", 1))); err != nil {
			return nil, err
		}
		return c.coll.FindOne(c.ctx, d("_id", c.id(0))).Raw()
	}), "insert", "update", "find"),
	"snapshot": inSet(nothing, inSession(options.Session().SetSnapshot(true), func(c calling) (any, error) {
		if _, err := c.coll.FindOne(c.ctx, d("_id", 3)).Raw(); err != nil {
			return nil, err
		}
		return c.coll.Distinct(c.ctx, "call", bson.D{}).Raw()
	}), "find", "distinct"),
	"tailable": several(nothing, func(c calling) (any, error) {
		cursor, err := c.coll.Find(c.ctx, d("call", 0),
			options.Find().SetBatchSize(2).SetCursorType(options.TailableAwait).SetMaxAwaitTime(50*time.Millisecond))
		if err != nil {
			return nil, err
		}
		return polled(c.ctx, cursor, 10)
	}, "find", "getMore", "killCursors"),
	"transaction": inSet(increases, inSession(nil, func(c calling) (any, error) {
		return nil, c.transaction(c.ctx, true)
	}), "insert", "update", "commitTransaction"),
	"abortedTransaction": inSet(nothing, inSession(nil, func(c calling) (any, error) {
		return nil, c.transaction(c.ctx, false)
	}), "insert", "update", "abortTransaction"),
	"withTransaction": inSet(increases, inSession(nil, func(c calling) (any, error) {
		times, session := 0, mongo.SessionFromContext(c.ctx)
		result, err := session.WithTransaction(c.ctx, func(ctx context.Context) (any, error) {
			if times++; times > 10 { // or a driver that begins again without a pause would never end
				pause(ctx, times > 20)
			}
			defer c.endsNow()
			return nil, c.writes(ctx)
		})
		return result, c.again(c.ctx, session, err)
	}), "insert", "update", "commitTransaction", "abortTransaction"),
}

// featured are the kinds of which only plans with features have calls.
var featured = []string{"causal", "clientBulkWriteMany", "snapshot", "tailable"}

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

// none takes the absence of a document for a result.
func none(doc bson.Raw, err error) (any, error) {
	if errors.Is(err, mongo.ErrNoDocuments) {
		err = nil
	}
	return doc, err
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
func (c Call) insertion(i int) mongo.ClientBulkWrite {
	return mongo.ClientBulkWrite{Database: "db", Collection: "c", Model: mongo.NewClientInsertOneModel().SetDocument(c.document(i))}
}

func (c Call) increase() mongo.ClientBulkWrite {
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

// endsNow notes that nothing but the transaction's end is left, if the callback does not run again.
func (c calling) endsNow() {
	c.note(func() { c.of(c.ID).ending = c.now() })
}

// pause waits for a second, and beyond the context's end only if it must.
func pause(ctx context.Context, must bool) {
	if must {
		ctx = context.Background()
	}
	_ = clock.Wait(ctx, time.Second)
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
