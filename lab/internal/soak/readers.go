package soak

import (
	"context"
	"errors"
	"maps"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"mongofork/lab/internal/clock"
)

const (
	// readWindow is the number of latest numbers that a reader reads.
	readWindow = 400
	// readBatch is the batch size of the readers, small for many getMore commands.
	readBatch = 50
	// sessionLength is the number of operations in a causally consistent session.
	sessionLength = 50
	// lastWorker is the worker of the document that ends a change stream.
	lastWorker = "the last"
)

// reader reads what a writer inserted.
type reader struct {
	worker
	writer *inserter
}

// read reads the writer's last inserts, in order. Everything acknowledged before has to be there, and nothing twice. Its session
// is as late as the writer's, because a former primary that knows less may answer, too.
func (r *reader) read(ctx context.Context) error {
	session, err := r.client.StartSession()
	if err != nil {
		return err
	}
	defer session.EndSession(ctx)
	acknowledged, err := r.writer.join(session)
	if err != nil {
		return err
	}
	ctx = mongo.NewSessionContext(ctx, session)
	attempted, _ := r.writer.stream.snapshot()
	first := attempted - readWindow
	maps.DeleteFunc(acknowledged, func(n int64, _ bool) bool { return n < first })
	cursor, err := r.collection("inserts").Find(ctx,
		bson.D{{Key: "worker", Value: r.writer.name}, {Key: "n", Value: bson.D{{Key: "$gte", Value: first}}}},
		options.Find().SetSort(bson.D{{Key: "n", Value: 1}}).SetBatchSize(readBatch).SetComment(r.comment()))
	if err != nil {
		return err
	}
	defer cursor.Close(ctx)
	var last int64
	for cursor.Next(ctx) {
		var found record
		if err := cursor.Decode(&found); err != nil {
			return err
		}
		if found.N <= last {
			r.report.violation(repeatingCursors, "%s: %d after %d", r.writer.name, found.N, last)
		}
		last = found.N
		delete(acknowledged, found.N)
	}
	if err := cursor.Err(); err != nil {
		return err
	}
	for n := range acknowledged {
		r.report.violation(lackingCursors, "%s %d", r.writer.name, n)
	}
	return nil
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
	if err == nil && !tooEarly(sum, count) {
		w.checkSum("a snapshot", sum, count)
	}
	return err
}

// tooEarly reports whether a snapshot is from before the accounts were made. A session with a snapshot is not causally
// consistent, and a killed member begins with its last checkpoint.
func tooEarly(sum int64, count int) bool { return sum == 0 && count == 0 }

func (a *application) checkSum(where string, sum int64, count int) {
	if sum != accounts*initialBalance || count != accounts {
		a.report.violation(wrongSums, "%s has %d in %d accounts, instead of %d in %d", where, sum, count,
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

// causal writes to the primary and reads from secondaries in causally consistent sessions.
type causal struct {
	worker
	session    *mongo.Session
	operations int
	// written is the last number acknowledged in the session, read the last number that it read.
	written, read int64
}

// step writes the next number and reads it at a secondary: the session must see what it wrote and read before.
func (c *causal) step(ctx context.Context) error {
	if c.session == nil || c.operations >= sessionLength {
		c.end(ctx)
		session, err := c.client.StartSession(options.Session().SetCausalConsistency(true))
		if err != nil {
			return err
		}
		c.session, c.operations, c.written, c.read = session, 0, 0, 0
	}
	c.operations++
	ctx = mongo.NewSessionContext(ctx, c.session)
	n := c.stream.next()
	// A late attempt must not undo later writes.
	_, err := c.collection("causal").UpdateByID(ctx, c.name, change("$max", "value", n),
		options.UpdateOne().SetUpsert(true).SetComment(c.comment()))
	if err == nil {
		c.written = n
	}
	if readErr := c.lookUp(ctx); err == nil {
		err = readErr
	}
	return err
}

func (c *causal) end(ctx context.Context) {
	if c.session != nil {
		c.session.EndSession(ctx)
	}
}

func (c *causal) lookUp(ctx context.Context) error {
	secondary := c.collection("causal",
		options.Collection().SetReadPreference(readpref.Secondary()).SetReadConcern(readconcern.Majority()))
	var found total
	err := secondary.FindOne(ctx, byID(c.name), options.FindOne().SetComment(c.comment())).Decode(&found)
	if err != nil && !errors.Is(err, mongo.ErrNoDocuments) { // which is wrong only where something was written
		return err
	}
	c.judge(found.Value)
	return nil
}

// judge compares what was read with what the session wrote and read before.
func (c *causal) judge(value int64) {
	if value < c.written {
		c.report.violation(unreadWrites, "%s wrote %d and read %d", c.name, c.written, value)
	}
	if value < c.read {
		c.report.violation(readsGoBack, "%s read %d and then %d", c.name, c.read, value)
	}
	c.read = value
}

// watcher follows the inserts by a change stream, from its start to the document of lastWorker.
type watcher struct {
	worker
	resume bson.Raw
	seen   map[string][]int64
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
			Document record `bson:"fullDocument"`
		}
		if err := stream.Decode(&event); err != nil {
			return err
		}
		w.resume = stream.ResumeToken()
		if event.Document.Worker == lastWorker {
			w.ended = true
			return nil
		}
		w.seen[event.Document.Worker] = append(w.seen[event.Document.Worker], event.Document.N)
	}
	return stream.Err()
}

// check compares the events with the collection. Each insert has one event; those of acknowledged inserts are in the order of
// their numbers, because the worker waits for one before it makes the next.
func (w *watcher) check(writer *inserter, inserted map[string][]int64) {
	_, acknowledged := writer.stream.snapshot()
	delivered := make(map[int64]bool)
	var last int64
	for _, n := range w.seen[writer.name] {
		if delivered[n] {
			w.report.violation(doubledEvents, "%s %d", writer.name, n)
		}
		delivered[n] = true
		if acknowledged[n] {
			if n < last {
				w.report.violation(unorderedEvents, "%s: %d after %d", writer.name, n, last)
			}
			last = n
		}
	}
	for _, n := range inserted[writer.name] {
		if !delivered[n] {
			w.report.violation(missingEvents, "%s %d", writer.name, n)
		}
	}
}
