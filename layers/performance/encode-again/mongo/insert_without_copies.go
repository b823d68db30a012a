package mongo

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/inmemory"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// ensureID returns a document that has an _id, and the _id: its own, or else the given one or, if that is zero, a new one. A document that
// marshal has left room in gets it there.
//
//fork:replace each document that is inserted without an _id was copied once more
func ensureID(
	doc bsoncore.Document, oid bson.ObjectID, bsonOpts *options.BSONOptions, registry *bson.Registry,
) (bsoncore.Document, any, error) {
	if _, err := doc.LookupErr("_id"); err == nil {
		var own struct {
			ID any `bson:"_id"`
		}
		if err := getDecoder(doc, bsonOpts, registry).Decode(&own); err != nil {
			return nil, nil, fmt.Errorf("error unmarshaling BSON document: %w", err)
		}
		return doc, own.ID, nil
	}
	if oid.IsZero() {
		oid = bson.NewObjectID()
	}
	const header, room = 4, inmemory.RoomForID // the _id comes first, behind the length
	if cap(doc)-len(doc) < room {              // such as a large document, see Output.Write
		doc = append(make(bsoncore.Document, 0, len(doc)+room), doc...)
	}
	doc = doc[:len(doc)+room]
	copy(doc[header+room:], doc[header:])
	bsoncore.AppendObjectIDElement(doc[:header], "_id", oid)
	return bsoncore.UpdateLength(doc, 0, int32(len(doc))), oid, nil
}

// createOrderedBatches divides a copy of the models into runs of one kind: the application may change its slice while the bulk write runs.
// A type of the application's, which embeds a model, begins none.
//
//fork:replace the models were copied into slices that grew
func createOrderedBatches(models []WriteModel) []bulkWriteBatch {
	models = append([]WriteModel(nil), models...)
	var batches []bulkWriteBatch
	var current writeCommandKind
	indexes, first := make([]int, len(models)), 0 // all indexes, and where the last batch begins
	for i, model := range models {
		indexes[i] = i
		kind, known := kindOf(model)
		if known && (i == 0 || kind != current) { // current begins as insertCommand, which is zero
			batches = append(batches, bulkWriteBatch{canRetry: kind != deleteManyCommand && kind != updateManyCommand})
			first = i
		}
		current = kind
		last, next := &batches[len(batches)-1], i+1
		last.models, last.indexes = models[first:next:next], indexes[first:next:next]
		last.canRetry = last.canRetry && known // what another type changes is not known
	}
	return batches
}

func kindOf(model WriteModel) (kind writeCommandKind, known bool) {
	switch model.(type) {
	case *DeleteOneModel:
		return deleteOneCommand, true
	case *DeleteManyModel:
		return deleteManyCommand, true
	case *ReplaceOneModel, *UpdateOneModel:
		return updateOneCommand, true
	case *UpdateManyModel:
		return updateManyCommand, true
	case *InsertOneModel:
		return insertCommand, true
	default:
		return insertCommand, false // with which an insert after it begins no batch
	}
}
