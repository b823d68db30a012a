//fork:base <v2.9.2

package bson

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

func TestDecodeOtherValuesIntoDocuments(t *testing.T) {
	for _, tc := range []struct {
		value any
		fails bool
	}{
		{value: D{{Key: "a", Value: int32(1)}}},
		{value: A{int32(1)}},
		{value: nil},
		{value: Undefined{}},
		{value: "abc", fails: true},
		{value: int32(0), fails: true},
		{value: int64(5), fails: true},
		{value: 1.5, fails: true},
		{value: true, fails: true},
		{value: Binary{Data: []byte{5, 0, 0, 0, 0}}, fails: true},
		{value: NewObjectID(), fails: true},
		{value: DBPointer{DB: "db", Pointer: NewObjectID()}, fails: true},
	} {
		doc, err := Marshal(D{{Key: "x", Value: tc.value}})
		require.NoError(t, err)

		var raw struct{ X Raw }
		assert.Equal(t, tc.fails, Unmarshal(doc, &raw) != nil)
		var core struct{ X bsoncore.Document }
		assert.Equal(t, tc.fails, Unmarshal(doc, &core) != nil)
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
