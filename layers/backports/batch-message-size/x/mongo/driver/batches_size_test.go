//fork:base <v2.6.1

package driver

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// TestBatchesFitTheMessage is about messages around the limit: what is appended never makes a message that is too long, and a
// batch that takes exactly what is left is taken.
func TestBatchesFitTheMessage(t *testing.T) {
	t.Parallel()
	const limit = 400
	doc := bsoncore.NewDocumentBuilder().AppendString("text", "of some length").Build()
	for before := 0; before < limit; before++ {
		for name, add := range map[string]func(*Batches, []byte, int) (int, []byte, error){
			"sequence": func(b *Batches, dst []byte, size int) (int, []byte, error) {
				return b.AppendBatchSequence(dst, 100, size)
			},
			"array of one": func(b *Batches, dst []byte, size int) (int, []byte, error) {
				return b.AppendBatchArray(dst, 1, size)
			},
		} {
			b := &Batches{Identifier: "documents", Documents: []bsoncore.Document{doc, doc, doc, doc, doc}}
			n, dst, err := add(b, make([]byte, before), limit)
			require.NoError(t, err)
			assert.True(t, len(dst) <= limit, "%s: %d of %d bytes, %d before", name, len(dst), limit, before)
			if n == 0 {
				assert.Equal(t, before, len(dst), "nothing is appended")
				around := map[string]int{"sequence": 1 + 4 + 1, "array of one": 10}[name]
				assert.True(t, limit-before < len(doc)+len("documents")+around, "%s: %d before", name, before)
			}
		}
	}
}
