package mongo_test

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// A bulk load that finishes: what an overloaded server has not executed is sent
// again after a wait.
func ExampleBulkOutcome() {
	var coll *mongo.Collection // that of the application
	load := func(ctx context.Context, docs []any) error {
		return bulkLoad(ctx, coll, docs, 30*time.Second, false)
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
