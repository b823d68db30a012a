package bsondoc

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.mongodb.org/mongo-driver/v2/bson"
)

func TestSucceeded(t *testing.T) {
	for ok, want := range map[any]bool{
		1.0: true, int32(1): true, int64(1): true, true: true, 0.0: false, false: false, "yes": false,
	} {
		assert.Equal(t, want, Succeeded(Marshal(D("ok", ok))), "%v", ok)
	}
	assert.False(t, Succeeded(Marshal(bson.D{})), "a reply without ok")
}

func TestRebuild(t *testing.T) {
	doc := Marshal(D("a", 1, "b", "x", "c", true))
	before := slices.Clone(doc)
	assert.Equal(t, Marshal(D("b", "x", "c", true, "d", 4)), Rebuild(doc, []string{"a", "missing"}, Marshal(D("d", 4))))
	assert.Equal(t, Marshal(D("b", "x", "a", 2, "c", false)), With(doc, bson.E{Key: "a", Value: 2}, bson.E{Key: "c", Value: false}))
	assert.Equal(t, doc, Rebuild(doc, nil, nil))
	assert.Equal(t, before, doc, "is not touched")
}
