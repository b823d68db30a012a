package mongo

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
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
		doc := must(marshal(value, nil, nil))(t)
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
	doc := must(marshal(bson.D{{Key: "a", Value: 1}}, nil, nil))(t)
	got, _, err := ensureID(doc, id, nil, nil)
	require.NoError(t, err)
	assert.True(t, &doc[0] == &got[0], "it was copied")
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
