package soak

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	database = "soak"
	// pace is how long a worker waits between two operations. It keeps a slow backend from being what overloads.
	pace = 10 * time.Millisecond
	// readBatch is the batch size of the readers, small for many getMore commands.
	readBatch = 50
)

// worker does one kind of operation, over and over.
type worker struct {
	name   string
	client *mongo.Client
	report *Report
	stream *stream
	calls  int64
}

// record is what the workers write.
type record struct {
	Worker string `bson:"worker"`
	N      int64  `bson:"n"`
}

// total counts what a worker did.
type total struct {
	ID    string `bson:"_id"`
	Value int64  `bson:"value"`
}

func (w *worker) collection(name string) *mongo.Collection {
	return w.client.Database(database).Collection(name)
}

// comment returns a comment that no operation had before.
func (w *worker) comment() string {
	w.calls++
	return fmt.Sprintf("%s %d", w.name, w.calls)
}

// repeat runs an operation until the context ends. The operation itself is not interrupted: a context with a deadline
// would put the driver's retries under a client-side timeout.
func (w *worker) repeat(ctx context.Context, kind string, operate func(context.Context) error) {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.report.operation(kind, operate(context.WithoutCancel(ctx)))
		}
	}
}

// insert inserts a document with the next number.
func (w *worker) insert(ctx context.Context) error {
	n := w.stream.next()
	_, err := w.collection("inserts").InsertOne(ctx, record{w.name, n}, options.InsertOne().SetComment(w.comment()))
	if err == nil {
		w.stream.acknowledge(n)
	}
	return err
}

// push appends the next number to an array. An update that is done twice shows there.
func (w *worker) push(ctx context.Context) error {
	n := w.stream.next()
	_, err := w.collection("updates").UpdateByID(ctx, w.name, bson.D{{Key: "$push", Value: bson.D{{Key: "n", Value: n}}}},
		options.UpdateOne().SetUpsert(true).SetComment(w.comment()))
	if err == nil {
		w.stream.acknowledge(n)
	}
	return err
}

// transact inserts a document with the next number and counts it, both or neither.
func (w *worker) transact(ctx context.Context) error {
	n := w.stream.next()
	session, err := w.client.StartSession()
	if err != nil {
		return err
	}
	defer session.EndSession(ctx)
	_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
		if _, err := w.collection("entries").InsertOne(ctx, record{w.name, n},
			options.InsertOne().SetComment(w.comment())); err != nil {
			return nil, err
		}
		return w.collection("totals").UpdateByID(ctx, w.name, bson.D{{Key: "$inc", Value: bson.D{{Key: "value", Value: 1}}}},
			options.UpdateOne().SetUpsert(true).SetComment(w.comment()))
	})
	if err == nil {
		w.stream.acknowledge(n)
	}
	return err
}

// reader reads what a writer inserted.
type reader struct {
	worker
	writer *worker
}

// read reads all that the writer inserted, in order. What was acknowledged before has to be there, and nothing twice.
func (r *reader) read(ctx context.Context) error {
	_, acknowledged := r.writer.stream.snapshot()
	cursor, err := r.collection("inserts").Find(ctx, bson.D{{Key: "worker", Value: r.writer.name}},
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
			r.report.violation("cursors that repeat themselves", "%s: %d after %d", r.writer.name, found.N, last)
		}
		last = found.N
		delete(acknowledged, found.N)
	}
	if err := cursor.Err(); err != nil {
		return err
	}
	for n := range acknowledged {
		r.report.violation("cursors that lack an acknowledged write", "%s %d", r.writer.name, n)
	}
	return nil
}
