package driver_test

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// TestWriteErrorsOfBatches is about a write of three documents in two batches, each with a write error: if it is ordered, the first ends
// it; otherwise its error has both, with the documents' places in the whole write.
func TestWriteErrorsOfBatches(t *testing.T) {
	duplicate := scripted.OK(bson.E{Key: "writeErrors", Value: bson.A{bson.D{{Key: "index", Value: 0}, {Key: "code", Value: 11000}}}})
	for ordered, want := range map[bool][]int64{true: {0}, false: {0, 2}} {
		ordered := ordered
		s := scripted.New(t, scripted.Repeat(len(want), duplicate)...)
		op := s.Write()
		op.Batches = &driver.Batches{Identifier: "documents", Documents: documents(3), Ordered: &ordered}
		failed, ok := errorOf(s.Execute(context.Background(), op)).(driver.WriteCommandError)
		require.True(t, ok)
		var indexes []int64
		for _, e := range failed.WriteErrors {
			indexes = append(indexes, e.Index)
		}
		assert.Equal(t, want, indexes, "ordered %v", ordered)
	}
}
