package mongo

import (
	"context"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

// The replies to a batch that is done, and to one of which the server does not know whether it will stay.
var (
	done   = scripted.OK(bson.E{Key: "n", Value: 1})
	unsure = append(done, concernError(64), bson.E{Key: "errorLabels", Value: bson.A{"Unsure"}})
)

// TestWriteConcernErrorOfABatch is about writes of several commands, of one kind and of several: the write concern error of
// each of them has to be told, and the labels that come with it.
func TestWriteConcernErrorOfABatch(t *testing.T) {
	ctx := context.Background()
	doc := bson.D{{Key: "x", Value: 1}}
	writes := map[string]func(*Collection) error{
		"insertMany": func(c *Collection) error {
			_, err := c.InsertMany(ctx, []any{doc, doc, doc, doc, doc}, options.InsertMany().SetOrdered(false))
			return err
		},
		"bulkWrite of one kind": func(c *Collection) error {
			var models []WriteModel
			for i := 0; i < 5; i++ {
				models = append(models, NewInsertOneModel().SetDocument(doc))
			}
			_, err := c.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
			return err
		},
		"bulkWrite of three kinds": func(c *Collection) error {
			_, err := c.BulkWrite(ctx, []WriteModel{
				NewInsertOneModel().SetDocument(doc), NewDeleteOneModel().SetFilter(doc),
				NewReplaceOneModel().SetFilter(doc).SetReplacement(doc),
			}, options.BulkWrite().SetOrdered(false))
			return err
		},
	}
	for name, write := range writes {
		for at := 0; at < 3; at++ {
			replies := []any{done, done, done}
			replies[at] = unsure
			script := scripted.New(t, replies...)
			err := write(connectScript(t, script).Database("db").Collection("coll"))
			var failed BulkWriteException
			require.True(t, errors.As(err, &failed), "%s, batch %d: %v", name, at, err)
			require.NotNil(t, failed.WriteConcernError, "%s, batch %d", name, at)
			assert.Equal(t, 64, failed.WriteConcernError.Code)
			assert.True(t, failed.HasErrorLabel("Unsure"), "%s, batch %d", name, at)
			script.Finish()
		}
		script := scripted.New(t, done, done, done)
		assert.NoError(t, write(connectScript(t, script).Database("db").Collection("coll")), name)
	}
}

// TestWriteConcernErrorBeforeWriteErrors is about commands of one kind: one has a write concern error, and a later one write errors
// without.
func TestWriteConcernErrorBeforeWriteErrors(t *testing.T) {
	doc := bson.D{{Key: "x", Value: 1}}
	duplicate := scripted.OK(bson.E{Key: "n", Value: 1}, writeErrorsAt(0))
	for _, tc := range []struct {
		ordered bool
		replies []any
	}{
		{ordered: false, replies: []any{unsure, duplicate, done}},
		{ordered: false, replies: []any{unsure, done, duplicate}},
		{ordered: false, replies: []any{duplicate, unsure, duplicate}},
		{ordered: true, replies: []any{unsure, duplicate}},
		{ordered: true, replies: []any{unsure, done, duplicate}},
	} {
		script := scripted.New(t, tc.replies...)
		majority := options.Client().SetWriteConcern(writeconcern.Majority())
		coll := connectScript(t, script, majority).Database("db").Collection("coll")
		_, err := coll.InsertMany(context.Background(), []any{doc, doc, doc, doc, doc}, options.InsertMany().SetOrdered(tc.ordered))
		script.Finish()
		var failed BulkWriteException
		require.True(t, errors.As(err, &failed), "%v", err)
		require.NotNil(t, failed.WriteConcernError)
		assert.Equal(t, 64, failed.WriteConcernError.Code)
		assert.True(t, failed.HasErrorLabel("Unsure"))
		assert.NotEmpty(t, failed.WriteErrors)
	}
}
