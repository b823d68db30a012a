package bsoncore_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// wrapped returns a document with one value under the key "0", which is a valid array, too.
func wrapped(kind bsoncore.Type, data []byte) bsoncore.Document {
	doc := append([]byte{0, 0, 0, 0, byte(kind), '0', 0}, data...)
	doc = append(doc, 0)
	binary.LittleEndian.PutUint32(doc, uint32(len(doc)))
	return doc
}

// TestLookupInMalformed is about embedded documents and arrays, at every depth that the keys reach, with every length that they
// cannot have, and about what a lookup returns of them.
func TestLookupInMalformed(t *testing.T) {
	t.Parallel()
	for _, kind := range []bsoncore.Type{bsoncore.TypeEmbeddedDocument, bsoncore.TypeArray} {
		for length := int32(-1); length < 9; length++ {
			if length == 5 {
				continue
			}
			for depth := 0; depth < 4; depth++ {
				kind, length, depth := kind, length, depth
				t.Run(fmt.Sprintf("%v of %d below %d", kind, length, depth), func(t *testing.T) {
					t.Parallel()
					doc := wrapped(kind, binary.LittleEndian.AppendUint32(nil, uint32(length)))
					keys := []string{"0", "0"}
					for i := 0; i < depth; i++ {
						doc = wrapped([]bsoncore.Type{bsoncore.TypeEmbeddedDocument, bsoncore.TypeArray}[i%2], doc)
						keys = append(keys, "0")
					}
					lookUpAll(t, doc, keys)
				})
			}
		}
	}
}

// lookUpAll fails if one of the ways to follow the keys finds something.
func lookUpAll(t *testing.T, doc bsoncore.Document, keys []string) {
	t.Helper()
	val, err := doc.LookupErr(keys...)
	assert.Error(t, err)
	assert.Equal(t, bsoncore.Value{}, val)
	assert.Equal(t, bsoncore.Value{}, doc.Lookup(keys...))
	_, err = bson.Raw(doc).LookupErr(keys...)
	assert.Error(t, err)
	assert.Equal(t, bson.RawValue{}, bson.Raw(doc).Lookup(keys...))
}

// TestIndexOfMalformed is about values that say to be shorter than their length, of which an empty one was made without an error.
func TestIndexOfMalformed(t *testing.T) {
	t.Parallel()
	for _, kind := range []bsoncore.Type{bsoncore.TypeEmbeddedDocument, bsoncore.TypeArray, bsoncore.TypeCodeWithScope} {
		for length := uint32(0); length < 4; length++ {
			arr := wrapped(kind, binary.LittleEndian.AppendUint32(nil, length))
			_, err := bsoncore.Array(arr).IndexErr(0)
			assert.Error(t, err, "%v of %d", kind, length)
			_, err = bson.RawArray(arr).IndexErr(0)
			assert.Error(t, err, "%v of %d", kind, length)
		}
	}
}

// TestLookup is about what has not changed: which value is found, and the errors.
func TestLookup(t *testing.T) {
	t.Parallel()
	inner := bsoncore.NewDocumentBuilder().AppendInt32("n", 7).AppendInt32("n", 8).Build()
	list := bsoncore.NewArrayBuilder().AppendString("s").AppendDocument(inner).Build()
	doc := bsoncore.NewDocumentBuilder().AppendDocument("d", inner).AppendArray("a", list).AppendInt32("i", 1).Build()

	for _, found := range []struct {
		keys []string
		want string
	}{
		{keys: []string{"d"}, want: inner.String()},
		{keys: []string{"d", "n"}, want: `{"$numberInt":"7"}`},
		{keys: []string{"a", "0"}, want: `"s"`},
		{keys: []string{"a", "1", "n"}, want: `{"$numberInt":"7"}`},
	} {
		val, err := doc.LookupErr(found.keys...)
		require.NoError(t, err)
		assert.Equal(t, found.want, val.String())
	}
	second, err := list.IndexErr(1)
	require.NoError(t, err)
	assert.Equal(t, inner.String(), second.String())

	for _, test := range []struct {
		keys []string
		want error
	}{
		{keys: nil, want: bsoncore.ErrEmptyKey},
		{keys: []string{"x"}, want: bsoncore.ErrElementNotFound},
		{keys: []string{"x", "n"}, want: bsoncore.ErrElementNotFound},
		{keys: []string{"d", "x"}, want: bsoncore.ErrElementNotFound},
		{keys: []string{"a", "2"}, want: bsoncore.ErrElementNotFound},
		{keys: []string{"i", "n"}, want: bsoncore.InvalidDepthTraversalError{Key: "i", Type: bsoncore.TypeInt32}},
		{keys: []string{"a", "0", "n"}, want: bsoncore.InvalidDepthTraversalError{Key: "0", Type: bsoncore.TypeString}},
	} {
		_, err := doc.LookupErr(test.keys...)
		assert.Equal(t, test.want, err, "%v", test.keys)
	}
	_, err = list.IndexErr(2)
	assert.Equal(t, bsoncore.ErrOutOfBounds, err)
	_, err = bsoncore.Document{5, 0}.LookupErr("a", "b")
	assert.Error(t, err)
}
