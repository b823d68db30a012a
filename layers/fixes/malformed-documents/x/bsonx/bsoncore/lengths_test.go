package bsoncore_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"runtime"
	"testing"

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

// TestWrongLengthOfValue is about every type that begins with a length, as a value and as an element of a document.
func TestWrongLengthOfValue(t *testing.T) {
	t.Parallel()
	for _, kind := range prefixedTypes {
		for _, length := range wrongLengths {
			kind, length := kind, length
			t.Run(fmt.Sprintf("%v of %d", kind, length), func(t *testing.T) {
				t.Parallel()
				data := binary.LittleEndian.AppendUint32(nil, uint32(length))
				data = append(data, 0, 0)
				assert.Error(t, bsoncore.Value{Type: kind, Data: data}.Validate())
				_, _, ok := bsoncore.ReadValue(data, kind)
				assert.False(t, ok)

				doc := append([]byte{0, 0, 0, 0, byte(kind), 'a', 0}, data...)
				doc = append(doc, 0)
				binary.LittleEndian.PutUint32(doc, uint32(len(doc)))
				assert.Error(t, bsoncore.Document(doc).Validate())
				_, err := bsoncore.Document(doc).Elements()
				assert.Error(t, err)
				_, err = bsoncore.Array(doc).Values()
				assert.Error(t, err)
				_, err = bsoncore.Document(doc).LookupErr("b")
				assert.Error(t, err)
			})
		}
	}
}

// TestShortDocument is about documents and arrays that say to be shorter than an empty one.
func TestShortDocument(t *testing.T) {
	t.Parallel()
	for length := int32(0); length < 5; length++ {
		length := length
		t.Run(fmt.Sprint(length), func(t *testing.T) {
			t.Parallel()
			for size := 4; size < 8; size++ {
				data := make([]byte, size)
				binary.LittleEndian.PutUint32(data, uint32(length))
				assert.ErrorIs(t, bsoncore.Document(data).Validate(), bsoncore.ErrInvalidLength)
				assert.ErrorIs(t, bsoncore.Array(data).Validate(), bsoncore.ErrInvalidLength)
				_, err := bsoncore.NewDocumentFromReader(bytes.NewReader(data))
				assert.ErrorIs(t, err, bsoncore.ErrInvalidLength)
				_, err = bsoncore.NewArrayFromReader(bytes.NewReader(data))
				assert.ErrorIs(t, err, bsoncore.ErrInvalidLength)
			}
		})
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
				_, err = bsoncore.NewArrayFromReader(bytes.NewReader(doc[:end]))
				assert.ErrorIs(t, err, io.ErrUnexpectedEOF, "%d of %d bytes", end, length)
			}
		}
		doc[length-1] = 1
		_, err = bsoncore.NewDocumentFromReader(bytes.NewReader(doc))
		assert.ErrorIs(t, err, bsoncore.ErrMissingNull)
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
