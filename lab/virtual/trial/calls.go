package trial

import (
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
	run      func(ctx context.Context, a *application, c Call) (any, error)
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
		!p.faulty(func(f Fault) bool { return f.What == Lack })
}

// kinds are the kinds of calls, by name. The table is read only.
var kinds = map[string]kind{
	"insertOne": {[]string{"insert"}, false, true, inserts, func(ctx context.Context, a *application, c Call) (any, error) {
		c.N = 1
		return a.coll.InsertOne(ctx, c.document(0))
	}},
	"insertMany": {[]string{"insert"}, false, true, inserts, func(ctx context.Context, a *application, c Call) (any, error) {
		return a.coll.InsertMany(ctx, c.documents())
	}},
	"updateOne": {[]string{"update"}, false, true, increases, func(ctx context.Context, a *application, c Call) (any, error) {
		return a.coll.UpdateOne(ctx, d("_id", c.id(0)), increase(), options.UpdateOne().SetUpsert(true))
	}},
	"updateMany": {[]string{"update"}, false, true, nothing, func(ctx context.Context, a *application, _ Call) (any, error) {
		return a.coll.UpdateMany(ctx, d("call", 0), d("$set", d("x", 1)))
	}},
	"replaceOne": {[]string{"update"}, false, true, nothing, func(ctx context.Context, a *application, c Call) (any, error) {
		return a.coll.ReplaceOne(ctx, d("_id", 1), d("call", 0), options.Replace().SetUpsert(true))
	}},
	"deleteOne": {[]string{"delete"}, false, true, nothing, func(ctx context.Context, a *application, _ Call) (any, error) {
		return a.coll.DeleteOne(ctx, d("_id", 2))
	}},
	"deleteMany": {[]string{"delete"}, false, true, nothing, func(ctx context.Context, a *application, _ Call) (any, error) {
		return a.coll.DeleteMany(ctx, d("call", -1))
	}},
	"findOne": {[]string{"find"}, false, true, nothing, func(ctx context.Context, a *application, _ Call) (any, error) {
		return a.coll.FindOne(ctx, d("_id", 3)).Raw()
	}},
	"find": {[]string{"find", "getMore"}, false, false, nothing, func(ctx context.Context, a *application, _ Call) (any, error) {
		return all(ctx)(a.coll.Find(ctx, d("call", 0), options.Find().SetBatchSize(2)))
	}},
	"findClose": {[]string{"find", "killCursors"}, false, false, nothing,
		func(ctx context.Context, a *application, _ Call) (any, error) {
			cursor, err := a.coll.Find(ctx, d("call", 0), options.Find().SetBatchSize(1))
			if err != nil {
				return nil, err
			}
			return cursor.Next(ctx), errors.Join(cursor.Err(), cursor.Close(ctx))
		}},
	"findOneAndUpdate": {[]string{"findAndModify"}, false, true, increases,
		func(ctx context.Context, a *application, c Call) (any, error) {
			return none(a.coll.FindOneAndUpdate(ctx, d("_id", c.id(0)), increase(),
				options.FindOneAndUpdate().SetUpsert(true)).Raw())
		}},
	"findOneAndReplace": {[]string{"findAndModify"}, false, true, nothing,
		func(ctx context.Context, a *application, _ Call) (any, error) {
			return a.coll.FindOneAndReplace(ctx, d("_id", 4), d("call", 0)).Raw()
		}},
	"findOneAndDelete": {[]string{"findAndModify"}, false, true, nothing,
		func(ctx context.Context, a *application, _ Call) (any, error) {
			return none(a.coll.FindOneAndDelete(ctx, d("_id", 5)).Raw())
		}},
	"countDocuments": {[]string{"aggregate"}, false, true, nothing, func(ctx context.Context, a *application, _ Call) (any, error) {
		return a.coll.CountDocuments(ctx, d("call", 0))
	}},
	"estimatedDocumentCount": {[]string{"count"}, false, true, nothing, func(ctx context.Context, a *application, _ Call) (any, error) {
		return a.coll.EstimatedDocumentCount(ctx)
	}},
	"distinct": {[]string{"distinct"}, false, true, nothing, func(ctx context.Context, a *application, _ Call) (any, error) {
		return a.coll.Distinct(ctx, "call", bson.D{}).Raw()
	}},
	"aggregate": {[]string{"aggregate", "getMore"}, false, false, nothing,
		func(ctx context.Context, a *application, _ Call) (any, error) {
			return all(ctx)(a.coll.Aggregate(ctx, mongo.Pipeline{d("$match", d("call", 0))},
				options.Aggregate().SetBatchSize(2)))
		}},
	"aggregateOut": {[]string{"aggregate"}, false, true, nothing, func(ctx context.Context, a *application, _ Call) (any, error) {
		return all(ctx)(a.coll.Aggregate(ctx, mongo.Pipeline{d("$match", d("call", 0)), d("$out", "out")}))
	}},
	"bulkWrite": {[]string{"insert", "update", "delete"}, false, false, increases,
		func(ctx context.Context, a *application, c Call) (any, error) {
			return a.coll.BulkWrite(ctx, []mongo.WriteModel{
				mongo.NewInsertOneModel().SetDocument(c.document(1)),
				mongo.NewInsertOneModel().SetDocument(c.document(max(2, c.N)%4 + 1)), // the same if N is 4
				mongo.NewUpdateOneModel().SetFilter(d("_id", c.id(0))).SetUpdate(increase()).SetUpsert(true),
				mongo.NewDeleteOneModel().SetFilter(d("_id", c.id(9))),
			}, options.BulkWrite().SetOrdered(c.N%2 == 0))
		}},
	"clientBulkWrite": {[]string{"bulkWrite"}, false, false, increases, func(ctx context.Context, a *application, c Call) (any, error) {
		return a.client.BulkWrite(ctx, []mongo.ClientBulkWrite{
			{Database: "db", Collection: "c", Model: mongo.NewClientInsertOneModel().SetDocument(c.document(1))},
			{Database: "db", Collection: "c",
				Model: mongo.NewClientUpdateOneModel().SetFilter(d("_id", c.id(0))).SetUpdate(increase()).SetUpsert(true)},
		}, options.ClientBulkWrite().SetVerboseResults(c.N > 1))
	}},
	"listCollections": {[]string{"listCollections"}, false, true, nothing,
		func(ctx context.Context, a *application, _ Call) (any, error) {
			return all(ctx)(a.coll.Database().ListCollections(ctx, bson.D{}))
		}},
	"listDatabases": {[]string{"listDatabases"}, false, true, nothing, func(ctx context.Context, a *application, _ Call) (any, error) {
		return a.client.ListDatabaseNames(ctx, bson.D{})
	}},
	"listIndexes": {[]string{"listIndexes"}, false, true, nothing, func(ctx context.Context, a *application, _ Call) (any, error) {
		return all(ctx)(a.coll.Indexes().List(ctx))
	}},
	"createIndex": {[]string{"createIndexes"}, false, true, nothing, func(ctx context.Context, a *application, _ Call) (any, error) {
		return a.coll.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: d("x", 1)})
	}},
	"dropIndex": {[]string{"dropIndexes"}, false, true, nothing, func(ctx context.Context, a *application, _ Call) (any, error) {
		return nil, a.coll.Indexes().DropOne(ctx, "x_1")
	}},
	"createCollection": {[]string{"create"}, false, true, nothing, func(ctx context.Context, a *application, _ Call) (any, error) {
		return nil, a.coll.Database().CreateCollection(ctx, "other")
	}},
	"dropCollection": {[]string{"drop"}, false, true, nothing, func(ctx context.Context, a *application, _ Call) (any, error) {
		return nil, a.coll.Database().Collection("other").Drop(ctx)
	}},
	"runCommand": {[]string{"ping"}, false, true, nothing, func(ctx context.Context, a *application, _ Call) (any, error) {
		return nil, a.coll.Database().RunCommand(ctx, d("ping", 1)).Err()
	}},
	"ping": {[]string{"ping"}, false, true, nothing, func(ctx context.Context, a *application, _ Call) (any, error) {
		return nil, a.client.Ping(ctx, nil)
	}},
	"watch": {[]string{"aggregate", "getMore"}, true, false, inserts, func(ctx context.Context, a *application, c Call) (any, error) {
		stream, err := a.coll.Watch(ctx, mongo.Pipeline{}, options.ChangeStream().SetMaxAwaitTime(100*time.Millisecond))
		if err != nil {
			return nil, err
		}
		_, err = a.coll.InsertMany(ctx, c.documents())
		seen := 0
		for range 20 {
			if err == nil && stream.TryNext(ctx) {
				seen++
			}
		}
		return seen, errors.Join(err, stream.Err(), stream.Close(ctx))
	}},
	"causal": {[]string{"insert", "find"}, true, false, inserts, inSession(options.Session().SetCausalConsistency(true),
		func(ctx context.Context, a *application, c Call) (any, error) {
			_, err := a.coll.InsertOne(ctx, c.document(0))
			if err != nil {
				return nil, err
			}
			return a.coll.FindOne(ctx, d("_id", c.id(0))).Raw()
		})},
	"snapshot": {[]string{"find", "distinct"}, true, false, nothing, inSession(options.Session().SetSnapshot(true),
		func(ctx context.Context, a *application, _ Call) (any, error) {
			_, err := a.coll.FindOne(ctx, d("_id", 3)).Raw()
			if err != nil {
				return nil, err
			}
			return a.coll.Distinct(ctx, "call", bson.D{}).Raw()
		})},
	"tailable": {[]string{"find", "getMore", "killCursors"}, false, false, nothing,
		func(ctx context.Context, a *application, c Call) (any, error) {
			cursor, err := a.coll.Find(ctx, d("call", 0),
				options.Find().SetBatchSize(2).SetCursorType(options.TailableAwait).SetMaxAwaitTime(50*time.Millisecond))
			if err != nil {
				return nil, err
			}
			seen := 0
			for range 10 {
				if cursor.TryNext(ctx) {
					seen++
				}
			}
			return seen, errors.Join(cursor.Err(), cursor.Close(ctx))
		}},
	"clientBulkWriteMany": {[]string{"bulkWrite", "getMore"}, false, false, increases,
		func(ctx context.Context, a *application, c Call) (any, error) {
			writes := []mongo.ClientBulkWrite{{Database: "db", Collection: "c",
				Model: mongo.NewClientUpdateOneModel().SetFilter(d("_id", c.id(0))).SetUpdate(increase()).SetUpsert(true)}}
			for i := range 4 {
				writes = append(writes, mongo.ClientBulkWrite{Database: "db", Collection: "c",
					Model: mongo.NewClientInsertOneModel().SetDocument(c.document(1 + i%(2+c.N)))})
			}
			return a.client.BulkWrite(ctx, writes, options.ClientBulkWrite().SetVerboseResults(c.N > 1).SetOrdered(c.N == 2))
		}},
	"transaction": {[]string{"insert", "update", "commitTransaction"}, true, false, increases,
		func(ctx context.Context, a *application, c Call) (any, error) {
			return a.transaction(ctx, c, true)
		}},
	"abortedTransaction": {[]string{"insert", "update", "abortTransaction"}, true, false, nothing,
		func(ctx context.Context, a *application, c Call) (any, error) {
			return a.transaction(ctx, c, false)
		}},
	"withTransaction": {[]string{"insert", "update", "commitTransaction", "abortTransaction"}, true, false, increases,
		func(ctx context.Context, a *application, c Call) (any, error) {
			session, err := a.client.StartSession()
			if err != nil {
				return nil, err
			}
			defer a.end(c, session)
			times := 0
			result, err := session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
				if times++; times > 10 { // or a driver that begins again without a pause would never end
					pause(ctx, times > 20)
				}
				defer a.endsNow(c)
				return nil, a.writes(ctx, c)
			})
			return result, a.again(ctx, c, session, err)
		}},
}

// featured are the kinds of which only plans with features have calls.
var featured = []string{"causal", "clientBulkWriteMany", "snapshot", "tailable"}

// inSession makes a call in a session of its own.
func inSession(opts *options.SessionOptionsBuilder, run func(context.Context, *application, Call) (any, error)) func(context.Context,
	*application, Call) (any, error) {
	return func(ctx context.Context, a *application, c Call) (any, error) {
		session, err := a.client.StartSession(opts)
		if err != nil {
			return nil, err
		}
		defer a.end(c, session)
		return run(mongo.NewSessionContext(ctx, session), a, c)
	}
}

// none takes the absence of a document for a result.
func none(doc bson.Raw, err error) (any, error) {
	if errors.Is(err, mongo.ErrNoDocuments) {
		err = nil
	}
	return doc, err
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

// writes are what a transaction does.
func (a *application) writes(ctx context.Context, c Call) error {
	if _, err := a.coll.InsertMany(ctx, []any{c.document(1), c.document(2)}); err != nil {
		return err
	}
	time.Sleep(3 * time.Millisecond)
	_, err := a.coll.UpdateOne(ctx, d("_id", c.id(0)), increase(), options.UpdateOne().SetUpsert(true))
	if err == nil && c.N == 3 {
		return fmt.Errorf("the application gives up: %w", errGivenUp)
	}
	time.Sleep(3 * time.Millisecond)
	return err
}

// end ends a session. It takes the time that it takes, and the call has none of it: applications give EndSession no deadline.
func (a *application) end(c Call, session *mongo.Session) {
	a.returns(c)
	session.EndSession(context.Background())
}

// returns notes that the call is over, but for what ends its session.
func (a *application) returns(c Call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, returned := a.returned[c.ID]; !returned {
		a.returned[c.ID] = a.recorder.now()
	}
}

// again ends a transaction once more after a failed commit, as the application may whose context is over. It returns the commit's error.
func (a *application) again(ctx context.Context, c Call, session *mongo.Session, err error) error {
	if err == nil || c.Again == "" {
		return err
	}
	a.returns(c)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	time.Sleep(100 * time.Millisecond)
	end := session.CommitTransaction
	if c.Again == "abort" {
		end = session.AbortTransaction
	}
	a.recorder.ended(c.ID, c.Again+"Again", nil, end(ctx))
	return err
}

// endsNow notes that nothing but the transaction's end is left, if the callback does not run again.
func (a *application) endsNow(c Call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ending[c.ID] = a.recorder.now()
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

func (a *application) transaction(ctx context.Context, c Call, commit bool) (any, error) {
	session, err := a.client.StartSession()
	if err != nil {
		return nil, err
	}
	defer a.end(c, session)
	if err := session.StartTransaction(); err != nil {
		return nil, err
	}
	err = a.writes(mongo.NewSessionContext(ctx, session), c)
	if err != nil || !commit {
		return nil, errors.Join(err, session.AbortTransaction(ctx))
	}
	return nil, a.again(ctx, c, session, session.CommitTransaction(ctx))
}
