package mongo_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
)

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
