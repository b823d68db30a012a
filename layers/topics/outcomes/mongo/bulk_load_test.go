package mongo_test

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// TestBulkLoadFinishes is about the example, ordered and not: it inserts each document once, or returns the error that remains.
func TestBulkLoadFinishes(t *testing.T) {
	single := scripted.OK(bson.E{Key: "writeErrors", Value: bson.A{bson.D{{Key: "index", Value: 1}, {Key: "code", Value: 462}}}})
	concern := scripted.OK(bson.E{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: 64}}})
	rejected := scripted.Repeat(6, scripted.Rejected())
	for name, tt := range map[string]struct {
		replies []any
		fails   bool
	}{
		"one command is rejected":           {replies: append([]any{scripted.OK()}, rejected...)},
		"one write is rejected":             {replies: []any{single}},
		"rejected, and a write concern":     {replies: append([]any{concern}, rejected...), fails: true},
		"a write concern, and all are done": {replies: []any{concern}, fails: true},
		"error 13":                          {replies: []any{scripted.Failure(13)}, fails: true},
	} {
		for _, ordered := range []bool{true, false} {
			s := scripted.New(t, tt.replies...)
			s.Rest = scripted.OK()
			opts := options.Client()
			opts.Deployment = s
			client, err := mongo.Connect(opts)
			require.NoError(t, err)
			docs := make([]any, 2*scripted.MaxBatchCount)
			for i := range docs {
				docs[i] = bson.D{{Key: "_id", Value: i}}
			}
			err = bulkLoad(context.Background(), client.Database("db").Collection("coll"), docs, 0, ordered)
			require.Equal(t, tt.fails, err != nil, "%s, ordered %v: %v", name, ordered, err)
			times := inserted(t, s, tt.replies, ordered)
			require.True(t, tt.fails || len(times) == len(docs), "%s, ordered %v: %v", name, ordered, times)
			for id, n := range times {
				require.Equal(t, 1, n, "%s, ordered %v: document %d", name, ordered, id)
			}
		}
	}
}

// inserted returns how often the servers have inserted each document that was sent, which their replies tell.
func inserted(t *testing.T, s *scripted.Script, replies []any, ordered bool) map[int32]int {
	times := map[int32]int{}
	for i, sent := range s.Sent {
		var reply bson.Raw
		if i < len(replies) {
			var err error
			reply, err = bson.Marshal(replies[i])
			require.NoError(t, err)
		}
		failed, fails := reply.Lookup("writeErrors", "0", "index").AsInt64OK()
		_, rejected := reply.Lookup("code").AsInt64OK()
		docs, err := sent.Command.Lookup("documents").Array().Values()
		require.NoError(t, err)
		for n, doc := range docs {
			unwritten := fails && (int64(n) == failed || int64(n) > failed && ordered)
			if !rejected && !unwritten {
				times[doc.Document().Lookup("_id").Int32()]++
			}
		}
	}
	return times
}
