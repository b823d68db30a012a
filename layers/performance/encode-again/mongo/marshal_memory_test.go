package mongo

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/inmemory"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// TestMarshalAgain: documents do not share memory, and a document that cannot be encoded leaves nothing behind.
func TestMarshalAgain(t *testing.T) {
	t.Parallel()
	values := []any{
		bson.D{{Key: "a", Value: "first"}},
		bson.D{{Key: "b", Value: bson.D{{Key: "c", Value: make(chan int)}}}}, // nothing encodes that
		bson.D{{Key: "d", Value: strings.Repeat("x", 100_000)}},
		bson.M{"e": bson.A{1, "two"}},
		struct{ F int64 }{7},
	}
	for _, opts := range []*options.BSONOptions{nil, {IntMinSize: true}} {
		var got [][]byte
		for i := 0; i < 3*len(values); i++ {
			doc, err := marshal(values[i%len(values)], opts, nil)
			if i%len(values) == 1 {
				assert.Error(t, err)
			}
			got = append(got, doc)
		}
		for i, doc := range got {
			if i%len(values) == 1 {
				continue
			}
			want, err := bson.Marshal(values[i%len(values)])
			require.NoError(t, err)
			if opts != nil && i%len(values) == 4 {
				want, err = bson.Marshal(struct{ F int32 }{7})
				require.NoError(t, err)
			}
			assert.Equal(t, want, doc)
		}
	}
}

// TestLargeWriterIsNotKept: a client that has encoded a large document once must not keep its memory.
func TestLargeWriterIsNotKept(t *testing.T) {
	t.Parallel()
	for size, kept := range map[int]bool{1000: true, 1_000_000: false} {
		var out inmemory.Output
		enc := bson.NewEncoder(bson.NewDocumentWriter(&out))
		require.NoError(t, enc.Encode(bson.D{{Key: "a", Value: strings.Repeat("x", size)}}))
		assert.Equal(t, kept, out.Writer != nil)
		assert.Equal(t, len(out.Bytes), int(out.Bytes[0])|int(out.Bytes[1])<<8|int(out.Bytes[2])<<16)
	}
}

type flushed struct{ A int32 }
