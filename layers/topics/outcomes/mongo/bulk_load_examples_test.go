package mongo_test

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// BulkOutcome says which documents an overloaded server has not executed. Send
// these again, after a wait; bulkLoad does so until all are inserted.
func ExampleBulkOutcome() {
	var (
		ctx  = context.Background()
		coll *mongo.Collection // that of the application
		docs []any
	)
	load := func() (later []any, err error) {
		opts := options.InsertMany().SetOrdered(false)
		_, err = coll.InsertMany(ctx, docs, opts)
		for _, i := range mongo.BulkOutcome(err, len(docs)).NotExecuted {
			later = append(later, docs[i])
		}
		return later, err
	}
	_ = load
}

// bulkLoad inserts the documents. If it returns an error, some were not
// inserted, or miss their write concern.
func bulkLoad(
	ctx context.Context, coll *mongo.Collection, docs []any,
	pause time.Duration, ordered bool,
) error {
	var concern error
	for {
		opts := options.InsertMany().SetOrdered(ordered)
		_, err := coll.InsertMany(ctx, docs, opts)
		outcome := mongo.BulkOutcome(err, len(docs))
		var exception mongo.BulkWriteException
		if errors.As(err, &exception) && len(exception.WriteConcernErrors) > 0 {
			concern = err
		}
		switch {
		case len(outcome.Failed)+len(outcome.Unknown) > 0,
			len(outcome.NotExecuted) > 0 && !isOverloaded(err):
			return err // look at each of them
		case len(outcome.NotExecuted) == 0:
			return concern
		}
		rest := make([]any, len(outcome.NotExecuted))
		for i, write := range outcome.NotExecuted {
			rest[i] = docs[write]
		}
		docs = rest
		select {
		case <-time.After(pause): // say half a minute, with jitter
		case <-ctx.Done():
			return err
		}
	}
}

// isOverloaded reports whether the server was overloaded: it has rejected a
// command or, since 9.0, single writes.
func isOverloaded(err error) bool {
	const overloaded = "SystemOverloadedError"
	var labeled mongo.LabeledError
	if errors.As(err, &labeled) && labeled.HasErrorLabel(overloaded) {
		return true
	}
	var exception mongo.BulkWriteException
	return errors.As(err, &exception) && len(exception.WriteErrors) > 0
}
