package session

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

func TestReplyFieldsOfAnotherType(t *testing.T) {
	marshal := func(t *testing.T, doc any) bson.Raw {
		raw, err := bson.Marshal(doc)
		require.NoError(t, err)
		return raw
	}
	for _, value := range []any{nil, int32(1), "text", true, bson.A{int32(1)}, bson.D{}, bson.Timestamp{T: 5, I: 6}} {
		_, isTime := value.(bson.Timestamp)
		_, isDocument := value.(bson.D)

		t.Run("recoveryToken", func(t *testing.T) {
			client := &Client{}
			client.UpdateRecoveryToken(marshal(t, bson.M{"recoveryToken": value}))
			assert.Equal(t, isDocument, client.RecoveryToken != nil)
		})
		t.Run("atClusterTime", func(t *testing.T) {
			for _, reply := range []any{bson.M{"atClusterTime": value}, bson.M{"cursor": bson.M{"atClusterTime": value}}} {
				client := &Client{}
				client.UpdateSnapshotTime(bsoncore.Document(marshal(t, reply)))
				assert.Equal(t, isTime, client.SnapshotTimeSet)
			}
		})
		t.Run("clusterTime", func(t *testing.T) {
			known := marshal(t, bson.M{"$clusterTime": bson.M{"clusterTime": bson.Timestamp{T: 1, I: 1}}})
			for _, reply := range []bson.Raw{
				marshal(t, bson.M{"$clusterTime": value}), marshal(t, bson.M{"$clusterTime": bson.M{"clusterTime": value}}),
			} {
				later := MaxClusterTime(known, reply)
				_, _, isLater := reply.Lookup("$clusterTime", "clusterTime").TimestampOK()
				assert.Equal(t, isLater, string(later) == string(reply))
			}
		})
	}
	t.Run("the first clusterTime", func(t *testing.T) {
		for _, time := range []bson.Timestamp{{I: 1}, {T: 1}} {
			known := marshal(t, bson.M{"$clusterTime": bson.M{"clusterTime": time}})
			for _, other := range []bson.Raw{nil, marshal(t, bson.M{})} {
				assert.Equal(t, known, MaxClusterTime(known, other))
				assert.Equal(t, known, MaxClusterTime(other, known))
			}
		}
	})
	t.Run("no session", func(t *testing.T) {
		var none *Client
		none.UpdateRecoveryToken(marshal(t, bson.M{"recoveryToken": bson.D{}}))
		none.UpdateSnapshotTime(bsoncore.Document(marshal(t, bson.M{"atClusterTime": bson.Timestamp{T: 1}})))
	})
}
