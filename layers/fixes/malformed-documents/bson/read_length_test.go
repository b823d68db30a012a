package bson

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
)

// TestStatedLength is about values that are longer than trusted, and about such that only say so.
func TestStatedLength(t *testing.T) {
	const long, claimed = 5<<20 + 3, 1 << 30
	for name, value := range map[string]any{
		"string": strings.Repeat("x", long), "binary": Binary{Data: make([]byte, long)}, "code": JavaScript(strings.Repeat("x", long)),
	} {
		doc, err := Marshal(D{{Key: "a", Value: value}})
		require.NoError(t, err)
		decode := func(doc []byte) (got D, err error) {
			err = NewDecoder(NewDocumentReader(bytes.NewReader(doc))).Decode(&got)
			return got, err
		}
		got, err := decode(doc)
		require.NoError(t, err, name)
		assert.Equal(t, value, got[0].Value, name)

		const at = 4 + 1 + 2 // the length of the document, the type and the key
		binary.LittleEndian.PutUint32(doc[at:], claimed)
		binary.LittleEndian.PutUint32(doc, claimed+100)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = decode(doc[:1000])
		runtime.ReadMemStats(&after)
		assert.Error(t, err, name)
		assert.True(t, after.TotalAlloc-before.TotalAlloc < 3<<20, "%s: %d bytes", name, after.TotalAlloc-before.TotalAlloc)
	}
}
