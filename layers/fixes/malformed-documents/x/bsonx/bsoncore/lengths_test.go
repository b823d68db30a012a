package bsoncore_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"runtime"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// wrongLengths are lengths that no value fills, and those of which a sum with a few bytes more does not fit into an int32.
var wrongLengths = []int32{
	math.MinInt32, -17, -5, -4, -1, 100, math.MaxInt32 - 16, math.MaxInt32 - 5, math.MaxInt32 - 4, math.MaxInt32,
}

var prefixedTypes = []bsoncore.Type{
	bsoncore.TypeString, bsoncore.TypeEmbeddedDocument, bsoncore.TypeArray, bsoncore.TypeBinary, bsoncore.TypeDBPointer,
	bsoncore.TypeJavaScript, bsoncore.TypeSymbol, bsoncore.TypeCodeWithScope,
}

// second returns the error of a call.
func second[T any](_ T, err error) error { return err }

// TestWrongLengthOfValue is about every type that begins with a length, as a value and as an element of a document.
func TestWrongLengthOfValue(t *testing.T) {
	t.Parallel()
	for _, kind := range prefixedTypes {
		for _, length := range wrongLengths {
			data := append(binary.LittleEndian.AppendUint32(nil, uint32(length)), 0, 0)
			_, _, ok := bsoncore.ReadValue(data, kind)
			assert.False(t, ok, "%v of %d", kind, length)
			doc := wrapped(kind, data)
			for how, err := range []error{
				bsoncore.Value{Type: kind, Data: data}.Validate(), doc.Validate(), second(doc.Elements()),
				bsoncore.Array(doc).Validate(), second(bsoncore.Array(doc).Values()), second(doc.LookupErr("b")),
			} {
				assert.Error(t, err, "%v of %d: %d", kind, length, how)
			}
		}
	}
}

// TestShortDocument is about documents and arrays that say to be shorter than an empty one.
func TestShortDocument(t *testing.T) {
	t.Parallel()
	for length := uint32(0); length < 5; length++ {
		for size := 4; size < 8; size++ {
			data := make([]byte, size)
			binary.LittleEndian.PutUint32(data, length)
			for how, err := range []error{
				bsoncore.Document(data).Validate(), second(bsoncore.NewDocumentFromReader(bytes.NewReader(data))),
				bsoncore.Array(data).Validate(), second(bsoncore.NewArrayFromReader(bytes.NewReader(data))),
			} {
				assert.ErrorIs(t, err, bsoncore.ErrInvalidLength, "%d: %d", length, how)
			}
		}
	}
}

// TestLongDocumentFromReader is about documents around the sizes at which more is allocated, and those that end before.
func TestLongDocumentFromReader(t *testing.T) {
	t.Parallel()
	const step = 1 << 20
	for _, length := range []int{step - 1, step, step + 1, 2*step - 1, 2 * step, 2*step + 1, 16 * step, 16*step + 1} {
		doc := make([]byte, length)
		for i := range doc {
			doc[i] = byte(i * i >> 7)
		}
		binary.LittleEndian.PutUint32(doc, uint32(length))
		doc[length-1] = 0
		rest := bytes.NewReader(append(append([]byte{}, doc...), 'x'))
		got, err := bsoncore.NewDocumentFromReader(rest)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(doc, got), "%d bytes", length)
		assert.Equal(t, 1, rest.Len(), "what follows is left")
		for _, end := range []int{5, step - 1, step, step + 1, length - 1} {
			if end < length {
				err := second(bsoncore.NewArrayFromReader(bytes.NewReader(doc[:end])))
				assert.ErrorIs(t, err, io.ErrUnexpectedEOF, "%d of %d bytes", end, length)
			}
		}
		doc[length-1] = 1
		assert.ErrorIs(t, second(bsoncore.NewDocumentFromReader(bytes.NewReader(doc))), bsoncore.ErrMissingNull)
	}
}

// TestAnnouncedLengthAllocates is about four bytes that announce two gigabytes, and a document that is as long as it says.
func TestAnnouncedLengthAllocates(t *testing.T) {
	allocated := func(data []byte) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := bsoncore.NewDocumentFromReader(bytes.NewReader(data))
		runtime.ReadMemStats(&after)
		assert.Equal(t, len(data) > 4, err == nil, "got %v", err)
		return after.TotalAlloc - before.TotalAlloc
	}
	assert.Less(t, allocated([]byte{0xff, 0xff, 0xff, 0x7f}), uint64(2<<20))
	const size = 8 << 20
	long := make([]byte, size)
	binary.LittleEndian.PutUint32(long, size)
	assert.Less(t, allocated(long), uint64(10<<20))
}

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
				doc := wrapped(kind, binary.LittleEndian.AppendUint32(nil, uint32(length)))
				keys := []string{"0", "0"}
				for i := 0; i < depth; i++ {
					doc = wrapped([]bsoncore.Type{bsoncore.TypeEmbeddedDocument, bsoncore.TypeArray}[i%2], doc)
					keys = append(keys, "0")
				}
				val, err := doc.LookupErr(keys...)
				assert.Error(t, err, "%v of %d below %d", kind, length, depth)
				assert.Equal(t, bsoncore.Value{}, val, "%v of %d below %d", kind, length, depth)
				assert.Equal(t, bsoncore.Value{}, doc.Lookup(keys...), "%v of %d below %d", kind, length, depth)
				assert.Error(t, second(bson.Raw(doc).LookupErr(keys...)), "%v of %d below %d", kind, length, depth)
				assert.Equal(t, bson.RawValue{}, bson.Raw(doc).Lookup(keys...), "%v of %d below %d", kind, length, depth)
			}
		}
	}
	want := bsoncore.InvalidDepthTraversalError{Key: "0", Type: bsoncore.TypeInt32}
	assert.Equal(t, error(want), second(wrapped(bsoncore.TypeInt32, make([]byte, 4)).LookupErr("0", "b")))
}

// TestIndexOfMalformed is about values that say to be shorter than their length, of which an empty one was made without an error.
func TestIndexOfMalformed(t *testing.T) {
	t.Parallel()
	for _, kind := range []bsoncore.Type{bsoncore.TypeEmbeddedDocument, bsoncore.TypeArray, bsoncore.TypeCodeWithScope} {
		for length := uint32(0); length < 4; length++ {
			arr := wrapped(kind, binary.LittleEndian.AppendUint32(nil, length))
			assert.Error(t, second(bsoncore.Array(arr).IndexErr(0)), "%v of %d", kind, length)
			assert.Error(t, second(bson.RawArray(arr).IndexErr(0)), "%v of %d", kind, length)
		}
	}
}
