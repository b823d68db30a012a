package mongo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// TestIndexesOfNoDocument is about replies to batches of two that tell of documents which are not among them.
func TestIndexesOfNoDocument(t *testing.T) {
	bulk := func(model WriteModel) func(*Collection, bool) error {
		return func(c *Collection, ordered bool) error {
			_, err := c.BulkWrite(context.Background(), []WriteModel{model, model}, options.BulkWrite().SetOrdered(ordered))
			return err
		}
	}
	upsert := NewUpdateOneModel().SetFilter(anything).SetUpdate(increment).SetUpsert(true)
	methods := map[string]func(*Collection, bool) error{
		"InsertMany": func(c *Collection, ordered bool) error {
			_, err := c.InsertMany(context.Background(), []any{anything, anything}, options.InsertMany().SetOrdered(ordered))
			return err
		},
		"inserts": bulk(NewInsertOneModel().SetDocument(anything)),
		"updates": bulk(upsert),
		"deletes": bulk(NewDeleteOneModel().SetFilter(anything)),
	}
	for name, run := range methods {
		for _, index := range []any{
			int32(-1), int32(2), int32(math.MaxInt32), int32(math.MinInt32),
			int64(math.MaxInt64), int64(math.MinInt64), int64(1) << 32,
		} {
			replies := []bson.E{writeErrorsAt(index), writeErrorsAt(int32(0), index)}
			if name == "updates" {
				replies = append(
					replies,
					bson.E{
						Key:   "upserted",
						Value: bson.A{bson.D{{Key: "index", Value: index}, {Key: "_id", Value: 1}}},
					},
				)
			}
			for i, reply := range replies {
				for _, ordered := range []bool{true, false} {
					run, reply, ordered := run, reply, ordered
					t.Run(fmt.Sprintf("%s/%v/%d/ordered %v", name, index, i, ordered), func(t *testing.T) {
						s := scripted.New(t, scripted.OK(bson.E{Key: "n", Value: 1}, reply))
						assert.Error(t, run(connectScript(t, s).Database("db").Collection("coll"), ordered))
						s.Finish()
					})
				}
			}
		}
	}
}

// TestWriteErrorsInAnyOrder is about write errors of an unordered insert that do not come in the order of its documents, or twice.
func TestWriteErrorsInAnyOrder(t *testing.T) {
	tests := []struct {
		indexes  []any
		inserted []any
		errors   int
	}{
		{indexes: []any{0}, inserted: []any{1}, errors: 1},
		{indexes: []any{1}, inserted: []any{0}, errors: 1},
		{indexes: []any{0, 1}, inserted: []any{}, errors: 2},
		{indexes: []any{1, 0}, inserted: []any{}, errors: 2},
		{indexes: []any{1, 1}, inserted: []any{0}, errors: 1},
		{indexes: []any{0, 0}, inserted: []any{1}, errors: 1},
		{indexes: []any{1, 0, 1, 0}, inserted: []any{}, errors: 2},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(fmt.Sprint(tt.indexes), func(t *testing.T) {
			s := scripted.New(t, scripted.OK(writeErrorsAt(tt.indexes...)))
			coll := connectScript(t, s).Database("db").Collection("coll")
			docs := []any{bson.D{{Key: "_id", Value: 0}}, bson.D{{Key: "_id", Value: 1}}}
			res, err := coll.InsertMany(context.Background(), docs, options.InsertMany().SetOrdered(false))
			var failed BulkWriteException
			require.True(t, errors.As(err, &failed), "got %T (%v)", err, err)
			assert.Len(t, failed.WriteErrors, tt.errors)
			assert.Equal(t, fmt.Sprint(tt.inserted), fmt.Sprint(res.InsertedIDs))
		})
	}
}

// TestRejectedWritesOfManyDocuments is about write errors that say that the server is overloaded: it has not executed the write, unless
// that is one of many documents, of which it may have changed some.
func TestRejectedWritesOfManyDocuments(t *testing.T) {
	ctx := context.Background()
	rejected := bson.D{{Key: "index", Value: 0}, {Key: "idx", Value: 0}, {Key: "ok", Value: 0}, {Key: "code", Value: 462}}
	for model, many := range map[any]bool{
		NewInsertOneModel().SetDocument(anything):                               false,
		NewDeleteOneModel().SetFilter(anything):                                 false,
		NewDeleteManyModel().SetFilter(anything):                                true,
		NewUpdateOneModel().SetFilter(anything).SetUpdate(increment):            false,
		NewUpdateManyModel().SetFilter(anything).SetUpdate(increment):           true,
		NewClientInsertOneModel().SetDocument(anything):                         false,
		NewClientDeleteOneModel().SetFilter(anything):                           false,
		NewClientDeleteManyModel().SetFilter(anything):                          true,
		NewClientUpdateManyModel().SetFilter(anything).SetUpdate(increment):     true,
		NewClientReplaceOneModel().SetFilter(anything).SetReplacement(replaced): false,
	} {
		s := scripted.New(t)
		s.Rest = scripted.OK(bson.E{Key: "writeErrors", Value: bson.A{rejected}}, firstBatch(0, rejected), bson.E{Key: "nErrors", Value: 1})
		coll := connectScript(t, s).Database("db").Collection("coll")
		var err error
		if write, ok := model.(WriteModel); ok {
			_, err = coll.BulkWrite(ctx, []WriteModel{write})
		} else {
			_, err = coll.client.BulkWrite(ctx, []ClientBulkWrite{{Database: "db", Collection: "coll", Model: model.(ClientWriteModel)}})
		}
		require.Error(t, err)
		outcome := BulkOutcome(err, 1)
		assert.Equal(t, many, len(outcome.Failed) == 1, "%T: %+v", model, outcome)
		assert.Equal(t, many, len(outcome.NotExecuted) == 0, "%T: %+v", model, outcome)
	}
}
