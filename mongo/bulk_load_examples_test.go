package mongo_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// A bulk load that finishes: what an overloaded server has not executed is sent again after a wait.
func ExampleBulkOutcome() {
	load := func(ctx context.Context, coll *mongo.Collection, docs []any) error {
		return bulkLoad(ctx, coll, docs, 30*time.Second, false)
	}
	_ = load
}

// bulkLoad inserts the documents. If it returns an error, some were not inserted, or miss their write concern.
func bulkLoad(ctx context.Context, coll *mongo.Collection, docs []any, pause time.Duration, ordered bool) error {
	var concern error
	for {
		_, err := coll.InsertMany(ctx, docs, options.InsertMany().SetOrdered(ordered))
		outcome := mongo.BulkOutcome(err, len(docs))
		var exception mongo.BulkWriteException
		if errors.As(err, &exception) && len(exception.WriteConcernErrors) > 0 {
			concern = err
		}
		switch {
		case len(outcome.Failed)+len(outcome.Unknown) > 0, len(outcome.NotExecuted) > 0 && !isOverloaded(err):
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

// isOverloaded reports whether the server was overloaded: it has rejected a command or, since 9.0, single writes.
func isOverloaded(err error) bool {
	var labeled mongo.LabeledError
	if errors.As(err, &labeled) && labeled.HasErrorLabel("SystemOverloadedError") {
		return true
	}
	var exception mongo.BulkWriteException
	return errors.As(err, &exception) && len(exception.WriteErrors) > 0
}

// TestBulkLoadFinishes is about the example, ordered and not: it inserts all documents, or returns the error that remains.
func TestBulkLoadFinishes(t *testing.T) {
	single := scripted.OK(bson.E{Key: "writeErrors", Value: bson.A{bson.D{{Key: "index", Value: 1}, {Key: "code", Value: 462}}}})
	concern := scripted.OK(bson.E{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: 64}}})
	rejected := scripted.Repeat(6, scripted.Rejected())
	for name, tt := range map[string]struct {
		replies []any
		fails   bool
	}{
		"one command is rejected":           {replies: append([]any{scripted.OK()}, rejected...)},
		"one write is rejected":             {replies: []any{single}},
		"rejected, and a write concern":     {replies: append([]any{concern}, rejected...), fails: true},
		"a write concern, and all are done": {replies: []any{concern}, fails: true},
		"error 13":                          {replies: []any{scripted.Failure(13)}, fails: true},
	} {
		for _, ordered := range []bool{true, false} {
			s := scripted.New(t, tt.replies...)
			s.Rest = scripted.OK()
			opts := options.Client()
			opts.Deployment = s
			client, err := mongo.Connect(opts)
			require.NoError(t, err)
			docs := make([]any, 2*scripted.MaxBatchCount)
			for i := range docs {
				docs[i] = bson.D{{Key: "_id", Value: i}}
			}
			err = bulkLoad(context.Background(), client.Database("db").Collection("coll"), docs, 0, ordered)
			require.Equal(t, tt.fails, err != nil, "%s, ordered %v: %v", name, ordered, err)
		}
	}
}
