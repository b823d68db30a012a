package bsondoc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
)

func TestWith(t *testing.T) {
	doc, err := bson.Marshal(bson.D{{Key: "a", Value: 1}, {Key: "b", Value: "x"}})
	require.NoError(t, err)
	got, err := With(doc, bson.E{Key: "a", Value: "new"}, bson.E{Key: "c", Value: true})
	require.NoError(t, err)
	assert.JSONEq(t, `{"a": "new", "b": "x", "c": true}`, got.String())
}

func TestNumber(t *testing.T) {
	for _, value := range []any{int32(3), int64(3), 3.0} {
		doc, err := bson.Marshal(bson.D{{Key: "n", Value: value}})
		require.NoError(t, err)
		n, ok := Number(bson.Raw(doc).Lookup("n"))
		assert.True(t, ok, "%T", value)
		assert.InDelta(t, 3, n, 0)
	}
	_, ok := Number(bson.RawValue{})
	assert.False(t, ok)
	doc, err := bson.Marshal(bson.D{{Key: "n", Value: "3"}})
	require.NoError(t, err)
	_, ok = Number(bson.Raw(doc).Lookup("n"))
	assert.False(t, ok)
}
