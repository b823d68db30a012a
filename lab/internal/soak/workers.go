package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"mongofork/lab/internal/clock"
)

const (
	// readWindow is the number of latest numbers that a reader reads, in batches that are small for many getMore commands.
	readWindow = 400
	readBatch  = 50
	// arrayLength is the number of numbers in an array before another document is begun.
	arrayLength = 100

	accounts       = 8
	initialBalance = 100
)

// worker does one kind of operation, over and over.
type worker struct {
	*application
	name   string
	stream *stream
	calls  int64
}

// record is the document that workers insert.
type record struct {
	N int64 `bson:"n"`
}

// account is one of the accounts.
type account struct {
	ID      int   `bson:"_id"`
	Balance int64 `bson:"balance"`
}

// jobs returns what is done over and over. Each worker writes to the collection of its name, where all has to be that was acknowledged.
func (a *application) jobs(session *mongo.Session) map[string]func(context.Context) error {
	writer := func(name string) worker {
		a.streams[name] = &stream{}
		return worker{application: a, name: name, stream: a.streams[name]}
	}
	reader := func(name string) worker { return worker{application: a, name: name, stream: &stream{}} }
	a.watcher = &watcher{worker: reader("watcher")}
	inserts := &chain{worker: writer("inserts"), session: session, known: make(map[int64]bool)}
	updates, bulks, modified, transfers, audits := writer("updates"), writer("bulks"), writer("modified"), writer("transfers"),
		reader("audits")
	jobs := map[string]func(context.Context) error{
		"session": inserts.step, "update": updates.push, "bulk write": bulks.bulk, "findAndModify": modified.modify,
		"transfer": transfers.transfer, "snapshot": audits.audit,
	}
	for i := range 2 {
		name := fmt.Sprintf("register of client %d", i)
		jobs[name] = (&accessor{worker: reader(name), number: i}).access
	}
	return jobs
}

func (w *worker) collection(name string, opts ...options.Lister[options.CollectionOptions]) *mongo.Collection {
	return w.client.Database(w.Database).Collection(name, opts...)
}

// comment returns a comment that no operation had before.
func (w *worker) comment() string {
	w.calls++
	return fmt.Sprintf("%s %d", w.name, w.calls)
}

func byID(id any) bson.D { return bson.D{{Key: "_id", Value: id}} }

func change(operator, field string, value any) bson.D {
	return bson.D{{Key: operator, Value: bson.D{{Key: field, Value: value}}}}
}

// push appends the next number to an array, where an update that is done twice shows.
func (w *worker) push(ctx context.Context) error {
	n := w.stream.next()
	_, err := w.collection(w.name).UpdateByID(ctx, w.name, change("$push", "n", n),
		options.UpdateOne().SetUpsert(true).SetComment(w.comment()))
	if err == nil {
		w.stream.acknowledge(n)
	}
	return err
}

// bulk inserts documents with the next numbers and pushes a number to an array, by one bulk write.
func (w *worker) bulk(ctx context.Context) error {
	numbers := []int64{w.stream.next(), w.stream.next(), w.stream.next()}
	result, err := w.collection(w.name).BulkWrite(ctx, []mongo.WriteModel{
		mongo.NewInsertOneModel().SetDocument(record{numbers[0]}), mongo.NewInsertOneModel().SetDocument(record{numbers[1]}),
		mongo.NewUpdateOneModel().SetFilter(byID("pushes")).SetUpdate(change("$push", "n", numbers[2])).SetUpsert(true),
	}, options.BulkWrite().SetComment(w.comment()))
	if err != nil {
		return err
	}
	for _, n := range numbers {
		w.stream.acknowledge(n)
	}
	if result.InsertedCount != 2 || result.ModifiedCount+result.UpsertedCount != 1 {
		w.report.violation("results that are wrong", "a bulk write of two inserts and an update: %+v", *result)
	}
	return nil
}

// modify appends the next number to an array by findAndModify, and looks for it in the document that this returns.
func (w *worker) modify(ctx context.Context) error {
	n := w.stream.next()
	var after struct {
		N []int64 `bson:"n"`
	}
	err := w.collection(w.name).FindOneAndUpdate(ctx, byID(n/arrayLength), change("$push", "n", n),
		options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After).SetComment(w.comment())).Decode(&after)
	if err != nil {
		return err
	}
	w.stream.acknowledge(n)
	if !slices.Contains(after.N, n) {
		w.report.violation("results that are wrong", "findAndModify pushed %d and returned %v", n, after.N)
	}
	return nil
}

// transfer moves some money between accounts by a transaction, and records that with the next number.
func (w *worker) transfer(ctx context.Context) error {
	from, to, amount := rand.IntN(accounts), rand.IntN(accounts-1), int64(1+rand.IntN(5))
	if to >= from {
		to++
	}
	n := w.stream.next()
	session, err := w.client.StartSession()
	if err != nil {
		return err
	}
	defer session.EndSession(ctx)
	_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
		for id, by := range map[int]int64{from: -amount, to: amount} {
			if _, err := w.collection("accounts").UpdateByID(ctx, id, change("$inc", "balance", by),
				options.UpdateOne().SetComment(w.comment())); err != nil {
				return nil, err
			}
		}
		return w.collection(w.name).InsertOne(ctx, record{n}, options.InsertOne().SetComment(w.comment()))
	})
	if err == nil {
		w.stream.acknowledge(n)
	}
	return err
}

// audit adds up all accounts as of one time, at any member: their sum never changes.
func (w *worker) audit(ctx context.Context) error {
	session, err := w.client.StartSession(options.Session().SetSnapshot(true))
	if err != nil {
		return err
	}
	defer session.EndSession(ctx)
	nearby := w.collection("accounts", options.Collection().SetReadPreference(readpref.Nearest()))
	sum, count, err := addUp(mongo.NewSessionContext(ctx, session), nearby, options.Find().SetComment(w.comment()))
	// A snapshot may be from before the accounts were made: a session with one is not causally consistent, and a killed member begins
	// with its last checkpoint.
	if err == nil && (sum != 0 || count != 0) {
		w.checkSum("a snapshot", sum, count)
	}
	return err
}

func (a *application) checkSum(where string, sum int64, count int) {
	if sum != accounts*initialBalance || count != accounts {
		a.report.violation("sums that are wrong", "%s has %d in %d accounts, instead of %d in %d", where, sum, count,
			accounts*initialBalance, accounts)
	}
}

func addUp(ctx context.Context, collection *mongo.Collection, opts ...options.Lister[options.FindOptions]) (sum int64, count int,
	err error) {
	cursor, err := collection.Find(ctx, bson.D{}, opts...)
	if err != nil {
		return 0, 0, err
	}
	var found []account
	if err := cursor.All(ctx, &found); err != nil {
		return 0, 0, err
	}
	for _, a := range found {
		sum += a.Balance
	}
	return sum, len(found), nil
}

// chain writes and reads in one causally consistent session.
type chain struct {
	worker
	session *mongo.Session
	// known has the numbers that the session was told of, and whether it read them.
	known map[int64]bool
}

// step inserts the next number, or reads the last ones at the primary or at a secondary, in turn.
func (c *chain) step(ctx context.Context) error {
	ctx = mongo.NewSessionContext(ctx, c.session)
	switch c.calls % 4 {
	case 1:
		return c.read(ctx, readpref.Primary())
	case 3:
		return c.read(ctx, readpref.Secondary())
	}
	n := c.stream.next()
	_, err := c.collection(c.name).InsertOne(ctx, record{n}, options.InsertOne().SetComment(c.comment()))
	if err == nil {
		c.stream.acknowledge(n)
		c.known[n] = false
	}
	return err
}

// read reads the last inserts, in order.
func (c *chain) read(ctx context.Context, from *readpref.ReadPref) error {
	first := max(c.stream.attempted-readWindow, 0)
	opts := options.Collection().SetReadPreference(from).SetReadConcern(readconcern.Majority())
	cursor, err := c.collection(c.name, opts).Find(ctx, change("n", "$gte", first),
		options.Find().SetSort(bson.D{{Key: "n", Value: 1}}).SetBatchSize(readBatch).SetComment(c.comment()))
	if err != nil {
		return err
	}
	defer cursor.Close(ctx)
	var found []int64
	for cursor.Next(ctx) {
		var next record
		if err := cursor.Decode(&next); err != nil {
			return err
		}
		found = append(found, next.N)
	}
	if err := cursor.Err(); err != nil {
		return err
	}
	c.judge(first, found)
	return nil
}

// judge compares what was read from a number on with what the session wrote and read before.
func (c *chain) judge(first int64, found []int64) {
	seen := make(map[int64]bool)
	for i, n := range found {
		if i > 0 && n <= found[i-1] {
			c.report.violation("cursors that repeat themselves", "%d after %d", n, found[i-1])
		}
		seen[n] = true
	}
	for n, read := range c.known {
		switch {
		case n < first:
			delete(c.known, n)
		case seen[n]:
			c.known[n] = true
		case read:
			c.report.violation("sessions whose reads go back", "%d is no longer there", n)
		default:
			c.report.violation("sessions that do not read their writes", "%d", n)
		}
	}
	for n := range seen {
		c.known[n] = true
	}
}

// watcher follows the inserts by a change stream, from its start to the last document.
type watcher struct {
	worker
	resume bson.Raw
	seen   []int64
	ended  bool
}

// open opens the change stream, or reopens it if it failed.
func (w *watcher) open(ctx context.Context) (*mongo.ChangeStream, error) {
	opts := options.ChangeStream().SetMaxAwaitTime(200 * time.Millisecond)
	if w.resume != nil {
		opts.SetResumeAfter(w.resume)
	}
	pipeline := mongo.Pipeline{{{Key: "$match", Value: bson.D{{Key: "operationType", Value: "insert"}}}}}
	stream, err := w.collection("inserts").Watch(ctx, pipeline, opts)
	if err == nil && w.resume == nil {
		w.resume = stream.ResumeToken() // nil where the server gives none before the first event
	}
	return stream, err
}

// follow reads the stream until it ends. Like an application, it reopens a stream that returned an error.
func (w *watcher) follow(ctx context.Context, stream *mongo.ChangeStream) error {
	var err error
	for {
		if err == nil {
			err = w.drain(ctx, stream)
		}
		w.report.operation("change stream", err)
		if w.ended {
			return nil
		}
		if clock.Wait(ctx, pace) != nil {
			return errors.New("the change stream did not deliver the last insert in time")
		}
		stream, err = w.open(ctx)
	}
}

// drain reads events until the stream fails or the last document has come.
func (w *watcher) drain(ctx context.Context, stream *mongo.ChangeStream) error {
	defer stream.Close(context.WithoutCancel(ctx))
	for stream.Next(ctx) {
		var event struct {
			Document struct {
				N    int64 `bson:"n"`
				Last bool  `bson:"last"`
			} `bson:"fullDocument"`
		}
		if err := stream.Decode(&event); err != nil {
			return err
		}
		w.resume = stream.ResumeToken()
		if w.ended = event.Document.Last; w.ended {
			return nil
		}
		w.seen = append(w.seen, event.Document.N)
	}
	return stream.Err()
}

// check compares the events with the collection. Each insert has one event; those of acknowledged inserts are in the order of
// their numbers, because the worker waits for one before it makes the next.
func (w *watcher) check(inserts *stream, inserted []int64) {
	delivered := make(map[int64]bool)
	var last int64
	for _, n := range w.seen {
		if delivered[n] {
			w.report.violation("events that came twice", "%d", n)
		}
		delivered[n] = true
		if inserts.acknowledged[n] {
			if n < last {
				w.report.violation("events out of order", "%d after %d", n, last)
			}
			last = n
		}
	}
	for _, n := range inserted {
		if !delivered[n] {
			w.report.violation("inserts without an event", "%d", n)
		}
	}
}
