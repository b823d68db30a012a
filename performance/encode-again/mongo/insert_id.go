package mongo

import (
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/inmemory"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// A document that marshal has left room in gets its _id there.
//
//fork:wrap each document that is inserted without an _id was copied once more
func ensureID(
	doc bsoncore.Document, oid bson.ObjectID, bsonOpts *options.BSONOptions, registry *bson.Registry,
) (bsoncore.Document, any, error) {
	if _, err := doc.LookupErr("_id"); err == nil || cap(doc)-len(doc) < inmemory.RoomForID {
		return upstreamEnsureID(doc, oid, bsonOpts, registry)
	}
	if oid.IsZero() {
		oid = bson.NewObjectID()
	}
	const header = 4
	doc = doc[:len(doc)+inmemory.RoomForID]
	copy(doc[header+inmemory.RoomForID:], doc[header:])
	bsoncore.AppendObjectIDElement(doc[:header], "_id", oid)
	return bsoncore.UpdateLength(doc, 0, int32(len(doc))), oid, nil
}

// createOrderedBatches divides models into runs of one kind.
//
//fork:replace the models were copied, into slices that grew
func createOrderedBatches(models []WriteModel) []bulkWriteBatch {
	var batches []bulkWriteBatch
	indexes, first := make([]int, len(models)), 0
	for i, model := range models {
		indexes[i] = i
		kind, next := kindOf(model), i+1
		if next < len(models) && kindOf(models[next]) == kind {
			continue
		}
		batches = append(batches, bulkWriteBatch{
			models: models[first:next:next], indexes: indexes[first:next:next],
			canRetry: kind != deleteManyCommand && kind != updateManyCommand,
		})
		first = next
	}
	return batches
}

func kindOf(model WriteModel) writeCommandKind {
	switch model.(type) {
	case *DeleteOneModel:
		return deleteOneCommand
	case *DeleteManyModel:
		return deleteManyCommand
	case *ReplaceOneModel, *UpdateOneModel:
		return updateOneCommand
	case *UpdateManyModel:
		return updateManyCommand
	default:
		return insertCommand
	}
}
