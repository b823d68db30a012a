package virtual

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// TestCompressedRejections is about commands and rejections that are compressed: a command is compressed again for each attempt. It takes real
// time, less than a second, because of zstd.
func TestCompressedRejections(t *testing.T) {
	for _, compressor := range []string{"zstd", "zlib", "snappy"} {
		t.Run(compressor, func(t *testing.T) {
			t.Parallel()
			cluster := New(t, Options{Topology: "replicaset:1", Zstd: true})
			coll := connect(t, cluster.Client("compressors="+compressor)).Database("db").Collection("c")
			var sent, plain atomic.Int32
			cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
				if !application(c.Name) {
					return run()
				}
				if !c.Compressed {
					plain.Add(1)
				}
				if sent.Add(1)%3 != 0 {
					return RequestRate.Reply()
				}
				return run()
			})
			doc := bson.D{{Key: "_id", Value: int32(1)}, {Key: "x", Value: strings.Repeat("compressible ", 1000)}}
			_, err := coll.InsertOne(context.Background(), doc)
			require.NoError(t, err)
			var found bson.D
			require.NoError(t, coll.FindOne(context.Background(), bson.D{}).Decode(&found))
			assert.Equal(t, doc, found)
			assert.EqualValues(t, 6, sent.Load())
			assert.Zero(t, plain.Load())
		})
	}
}
