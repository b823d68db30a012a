package soak

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// lastWorker is the worker of the document that ends a change stream.
const lastWorker = "the last"

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
	for !w.ended {
		if stream != nil {
			err := w.drain(ctx, stream)
			w.report.operation("change stream", err)
			if w.ended || ctx.Err() != nil {
				break
			}
		}
		var err error
		if stream, err = w.open(ctx); err != nil {
			stream = nil
			w.report.operation("change stream", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(w.pace):
		}
		if ctx.Err() != nil {
			break
		}
	}
	if !w.ended {
		return errors.New("the change stream did not deliver the last insert in time")
	}
	return nil
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
// their numbers, because a worker waits for one before it makes the next.
func (w *watcher) check(workers []*inserter, inserted map[string][]int64) {
	total := 0
	for _, writer := range workers {
		_, acknowledged := writer.stream.snapshot()
		delivered := make(map[int64]bool)
		var last int64
		for _, n := range w.seen[writer.name] {
			if delivered[n] {
				w.report.violation("events that came twice", "%s %d", writer.name, n)
			}
			delivered[n] = true
			if acknowledged[n] {
				if n < last {
					w.report.violation("events out of order", "%s: %d after %d", writer.name, n, last)
				}
				last = n
			}
		}
		for _, n := range inserted[writer.name] {
			if !delivered[n] {
				w.report.violation("inserts without an event", "%s %d", writer.name, n)
			}
		}
		total += len(w.seen[writer.name])
	}
	w.report.note("the change stream delivered %d events", total)
}
