package bsondoc

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
)

func TestWith(t *testing.T) {
	doc, err := bson.Marshal(bson.D{{Key: "a", Value: 1}, {Key: "b", Value: "x"}})
	require.NoError(t, err)
	got := With(doc, bson.E{Key: "a", Value: "new"}, bson.E{Key: "c", Value: true})
	assert.JSONEq(t, `{"a": "new", "b": "x", "c": true}`, got.String())
}

// raw returns a document of one field.
func raw(t *testing.T, value any) bson.Raw {
	t.Helper()
	doc, err := bson.Marshal(bson.D{{Key: "ok", Value: value}})
	require.NoError(t, err)
	return doc
}

func TestSucceeded(t *testing.T) {
	for _, test := range []struct {
		ok   any
		want bool
	}{
		{1.0, true}, {int32(1), true}, {int64(1), true}, {true, true}, {0.0, false}, {false, false}, {"yes", false},
	} {
		assert.Equal(t, test.want, Succeeded(raw(t, test.ok)), "%v", test.ok)
	}
	assert.False(t, Succeeded(bson.Raw{5, 0, 0, 0, 0}), "a reply without ok")
}

func TestRebuild(t *testing.T) {
	doc, err := bson.Marshal(bson.D{{Key: "a", Value: 1}, {Key: "b", Value: "x"}, {Key: "c", Value: true}})
	require.NoError(t, err)
	before := slices.Clone(doc)
	got := Rebuild(doc, []string{"a", "missing"}, Marshal(D("d", 4)))
	assert.JSONEq(t, `{"b": "x", "c": true, "d": {"$numberInt": "4"}}`, got.String())
	assert.NoError(t, got.Validate())
	assert.Equal(t, before, doc, "is not touched")
	assert.Equal(t, bson.Raw(doc), Rebuild(doc, nil, nil))
}
