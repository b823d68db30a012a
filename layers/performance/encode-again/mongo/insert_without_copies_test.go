package mongo

import (
	"context"
	"reflect"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/drivertest"
)

// TestIDInPlace: a document keeps its _id, or gets one, in the memory that it has if there is room.
func TestIDInPlace(t *testing.T) {
	t.Parallel()
	id := bson.NewObjectID()
	for _, value := range []any{
		bson.D{}, bson.D{{Key: "a", Value: "text"}}, bson.D{{Key: "a", Value: bson.D{{Key: "_id", Value: 1}}}},
		bson.D{{Key: "_id", Value: 1}}, bson.D{{Key: "a", Value: 1}, {Key: "_id", Value: 2}}, bson.D{{Key: "$a", Value: 1}},
		bson.D{{Key: "_i", Value: 1}}, bson.D{{Key: "_idx", Value: 1}}, bson.D{{Key: "", Value: 1}},
	} {
		doc, err := marshal(value, nil, nil)
		require.NoError(t, err)
		want, wantID := append(bsoncore.Document(nil), doc...), any(id)
		if own, err := doc.LookupErr("_id"); err == nil {
			wantID = own.Int32()
		} else {
			elements := append(bsoncore.AppendObjectIDElement(nil, "_id", id), doc[4:len(doc)-1]...)
			want = bsoncore.BuildDocument(nil, elements)
		}
		for _, given := range []bsoncore.Document{doc[:len(doc):len(doc)], doc} { // without room, and with it
			got, gotID, err := ensureID(given, id, nil, nil)
			require.NoError(t, err)
			assert.Equal(t, want, got, "%v", value)
			assert.Equal(t, wantID, gotID, "%v", value)
		}
	}
	doc, err := marshal(bson.D{{Key: "a", Value: 1}}, nil, nil)
	require.NoError(t, err)
	got, _, err := ensureID(doc, id, nil, nil)
	require.NoError(t, err)
	assert.True(t, &doc[0] == &got[0], "it was copied")
}

// TestOrderedBatches compares with a batch for each model that is of another kind than the one before.
func TestOrderedBatches(t *testing.T) {
	t.Parallel()
	kinds := []WriteModel{
		NewInsertOneModel(), NewDeleteOneModel(), NewDeleteManyModel(), NewReplaceOneModel(), NewUpdateOneModel(), NewUpdateManyModel(),
	}
	retried := []bool{true, true, false, true, true, false}
	for n := 0; n < len(kinds)*len(kinds)*len(kinds); n++ {
		list := []int{n % len(kinds), n / len(kinds) % len(kinds), n / len(kinds) / len(kinds)}
		var models []WriteModel
		var want []bulkWriteBatch
		var before reflect.Type
		for i, k := range list {
			models = append(models, kinds[k])
			kind := reflect.TypeOf(kinds[k])
			if kind == reflect.TypeOf(&ReplaceOneModel{}) {
				kind = reflect.TypeOf(&UpdateOneModel{}) // one command does both
			}
			if kind != before {
				want, before = append(want, bulkWriteBatch{canRetry: retried[k]}), kind
			}
			last := &want[len(want)-1]
			last.models, last.indexes = append(last.models, kinds[k]), append(last.indexes, i)
		}
		assert.Equal(t, want, createOrderedBatches(models))
	}
	assert.Len(t, createOrderedBatches(nil), 0)
}

// TestOrderedBatchesOfEmbeddedModels: such a model is in the batch of the model before it, which is not retried. The first of a bulk write
// panics: a batch of its own would be left out, and the writes after it in that batch, as if they had succeeded.
func TestOrderedBatchesOfEmbeddedModels(t *testing.T) {
	t.Parallel()
	embedded := struct{ *InsertOneModel }{NewInsertOneModel()}
	models := []WriteModel{NewDeleteOneModel(), embedded, NewInsertOneModel(), NewUpdateOneModel()}
	assert.Equal(t, []bulkWriteBatch{
		{models: models[:3], indexes: []int{0, 1, 2}},
		{models: models[3:], indexes: []int{3}, canRetry: true},
	}, createOrderedBatches(models))
	defer func() { assert.NotNil(t, recover(), "it did not panic") }()
	createOrderedBatches(models[1:])
}

// TestInsertedIDsAreDecoded: the _id values in results are decoded with the registry of the client.
func TestInsertedIDsAreDecoded(t *testing.T) {
	reg := bson.NewRegistry()
	reg.RegisterTypeMapEntry(bson.TypeString, reflect.TypeOf(bson.Symbol("")))
	doc := bson.D{{Key: "_id", Value: "text"}}
	client := setupClient(options.Client().SetRegistry(reg))
	client.deployment = drivertest.NewMockDeployment(bson.D{{Key: "ok", Value: 1}}, bson.D{{Key: "ok", Value: 1}})
	coll := client.Database("db").Collection("coll")
	one, err := coll.InsertOne(context.Background(), doc)
	require.NoError(t, err)
	many, err := coll.InsertMany(context.Background(), []any{doc})
	require.NoError(t, err)
	assert.Equal(t, []any{bson.Symbol("text"), bson.Symbol("text")}, append(many.InsertedIDs, one.InsertedID))
}
