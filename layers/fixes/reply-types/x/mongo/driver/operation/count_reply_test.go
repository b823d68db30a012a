//fork:base <v2.9.0

package operation

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
)

func TestCountResult(t *testing.T) {
	batch := func(documents ...any) any { return bson.M{"cursor": bson.M{"firstBatch": bson.A(documents)}} }

	for _, tc := range []struct {
		name  string
		reply any
		want  int64 // or -1 for an error
	}{
		{name: "count", reply: bson.M{"n": int32(3)}, want: 3},
		{name: "count of another type", reply: bson.M{"n": "3"}, want: -1},
		{name: "aggregate", reply: batch(bson.M{"n": int64(4)}), want: 4},
		{name: "no document", reply: batch(), want: -1},
		{name: "no number", reply: batch(bson.M{}), want: -1},
		{name: "no document in the batch", reply: batch(int32(4)), want: -1},
		{name: "batch of another type", reply: bson.M{"cursor": bson.M{"firstBatch": "text"}}, want: -1},
		{name: "no batch", reply: bson.M{"cursor": bson.M{}}, want: -1},
		{name: "cursor of another type", reply: bson.M{"cursor": int32(1)}, want: -1},
	} {
		reply, err := bson.Marshal(tc.reply)
		require.NoError(t, err)
		got, err := buildCountResult(reply)
		assert.Equal(t, tc.want < 0, err != nil, "%s: %v", tc.name, err)
		assert.True(t, tc.want < 0 || got.N == tc.want, "%s: %d", tc.name, got.N)
	}
}
