package soak

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/clock"
)

// watch follows the inserts by a change stream, and keeps their numbers: it reads what the stream has. Like an
// application, it opens another where one that returned an error ended.
func (w *workers) watch(ctx context.Context) error {
	if w.stream == nil {
		opts := options.ChangeStream().SetMaxAwaitTime(200 * time.Millisecond)
		if w.resume != nil {
			opts.SetResumeAfter(w.resume)
		}
		var err error
		if w.stream, err = w.db.Collection("inserts").Watch(ctx, mongo.Pipeline{}, opts); err != nil {
			w.stream = nil
			return err
		}
	}
	for w.stream.TryNext(ctx) {
		var event struct {
			Document document `bson:"fullDocument"`
		}
		if err := w.stream.Decode(&event); err != nil {
			return err
		}
		w.seen = append(w.seen, event.Document.N)
	}
	w.resume = w.stream.ResumeToken()
	err := w.stream.Err()
	if err != nil {
		_ = w.stream.Close(context.WithoutCancel(ctx)) // it has failed
		w.stream = nil
	}
	return err
}

// finish inserts a last document and waits for its event. It insists, because an error must not look like a stream that ended.
func (w *workers) finish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for err := w.insert(ctx); err != nil; err = w.insert(ctx) {
		if clock.Wait(ctx, pace) != nil {
			return fmt.Errorf("insert the last document: %w", err)
		}
	}
	for !slices.Contains(w.seen, w.inserts.last) {
		w.report.operation("change stream", w.watch(ctx))
		if clock.Wait(ctx, pace) != nil {
			w.report.violation("change streams that end early", "it did not deliver the last insert in time")
			return nil
		}
	}
	return w.stream.Close(ctx)
}

// checkEvents compares the events with what is in the collection. Each insert has one event; those of acknowledged inserts are in the
// order of their numbers, because the worker waits for one before it makes the next.
func (w *workers) checkEvents(lists map[int][]int64) {
	acknowledged := make(map[int64]bool)
	for _, a := range w.inserts.accesses {
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
