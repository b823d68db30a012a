//fork:base <v2.9.2

package bson

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

func TestDecodeOtherValuesIntoDocuments(t *testing.T) {
	documents := []any{D{{Key: "a", Value: int32(1)}}, A{int32(1)}, nil, Undefined{}}
	others := []any{
		"abc", int32(0), int64(5), 1.5, true, Binary{Data: []byte{5, 0, 0, 0, 0}}, NewObjectID(), DBPointer{DB: "db", Pointer: NewObjectID()},
	}
	for i, value := range append(documents, others...) {
		doc, err := Marshal(D{{Key: "x", Value: value}})
		require.NoError(t, err)
		fails := i >= len(documents)
		var raw struct{ X Raw }
		assert.Equal(t, fails, Unmarshal(doc, &raw) != nil, "%v", value)
		var core struct{ X bsoncore.Document }
		assert.Equal(t, fails, Unmarshal(doc, &core) != nil, "%v", value)
	}
}

func TestEncodeBytesOfWrongLength(t *testing.T) {
	for _, raw := range []Raw{{0, 0, 0, 0}, {3, 0, 0, 0}, {4, 0, 0, 0}, {0xff, 0xff, 0xff, 0xff}, {9, 0, 0, 0, 0}} {
		_, err := Marshal(D{{Key: "x", Value: raw}})
		assert.Error(t, err)
	}
	_, err := Marshal(D{{Key: "x", Value: Raw{5, 0, 0, 0, 0}}})
	require.NoError(t, err)
}
