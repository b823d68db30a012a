package soak

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/clock"
)

// theEnd is the number of the document that ends the change stream.
const theEnd = -1

// watcher follows the inserts by a change stream, from its start to the last document.
type watcher struct {
	inserts *mongo.Collection
	report  *Report
	resume  bson.Raw
	seen    []int64
	ended   bool
}

// open opens the change stream, or reopens it if it failed.
func (w *watcher) open(ctx context.Context) (*mongo.ChangeStream, error) {
	opts := options.ChangeStream().SetMaxAwaitTime(200 * time.Millisecond)
	if w.resume != nil {
		opts.SetResumeAfter(w.resume)
	}
	stream, err := w.inserts.Watch(ctx, mongo.Pipeline{}, opts)
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
			Document document `bson:"fullDocument"`
		}
		if err := stream.Decode(&event); err != nil {
			return err
		}
		w.resume = stream.ResumeToken()
		if w.ended = event.Document.N == theEnd; w.ended {
			return nil
		}
		w.seen = append(w.seen, event.Document.N)
	}
	return stream.Err()
}

// end inserts the last document. It insists, because an error must not look like a stream that ended.
func (w *watcher) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		_, err := w.inserts.InsertOne(ctx, document{N: theEnd})
		if err == nil || clock.Wait(ctx, pace) != nil {
			return err
		}
	}
}

// check compares the events with what is in the collection. Each insert has one event; those of acknowledged inserts are in the
// order of their numbers, because the worker waits for one before it makes the next.
func (w *watcher) check(inserts *history, lists map[int][]int64) {
	acknowledged := make(map[int64]bool)
	for _, a := range inserts.accesses {
		for _, n := range a.appended {
			acknowledged[n] = a.succeeded
		}
	}
	delivered := make(map[int64]bool)
	var last int64
	for _, n := range w.seen {
		if delivered[n] {
			w.report.violation("events that came twice", "%d", n)
		}
		delivered[n] = true
		if acknowledged[n] {
			if n < last {
				w.report.violation("events out of order", "%d after %d", n, last)
			}
			last = n
		}
	}
	for _, numbers := range lists {
		for _, n := range numbers {
			if !delivered[n] {
				w.report.violation("inserts without an event", "%d", n)
			}
		}
	}
}
