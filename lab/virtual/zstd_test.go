package virtual

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
)

// TestZstd is about a command and rejections that are compressed with zstd: the command is compressed again for each attempt. It takes
// real time, less than a second, because the package zstd keeps channels beyond a bubble.
func TestZstd(t *testing.T) {
	t.Parallel()
	cluster := New(t, Options{Topology: "replicaset:1"})
	var sent, plain atomic.Int32
	cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
		switch {
		case proxy.IsHello(c.Name):
			return bsondoc.With(run(), bson.E{Key: "compression", Value: bson.A{"zstd"}})
		case c.Name != "insert":
			return run()
		case !c.Compressed:
			plain.Add(1)
		}
		if sent.Add(1) < 3 {
			return RequestRate.Reply()
		}
		return run()
	})
	coll := connect(t, cluster.Client("compressors=zstd")).Database("db").Collection("c")
	_, err := coll.InsertOne(context.Background(), bson.D{{Key: "_id", Value: 1}})
	require.NoError(t, err)
	assert.EqualValues(t, 3, sent.Load())
	assert.Zero(t, plain.Load())
}
