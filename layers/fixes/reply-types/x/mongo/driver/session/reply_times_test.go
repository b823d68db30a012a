package session

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

func TestReplyFieldsOfAnotherType(t *testing.T) {
	marshal := func(doc any) bson.Raw {
		raw, err := bson.Marshal(doc)
		require.NoError(t, err)
		return raw
	}
	start := marshal(bson.M{"$clusterTime": bson.M{"clusterTime": bson.Timestamp{T: 1, I: 1}}})
	for _, value := range []any{nil, int32(1), "text", true, bson.A{int32(1)}, bson.D{}, bson.Timestamp{T: 5, I: 6}} {
		_, isTime := value.(bson.Timestamp)
		_, isDocument := value.(bson.D)
		client := &Client{}
		client.UpdateRecoveryToken(marshal(bson.M{"recoveryToken": value}))
		assert.Equal(t, isDocument, client.RecoveryToken != nil, "%v", value)
		for _, reply := range []any{bson.M{"atClusterTime": value}, bson.M{"cursor": bson.M{"atClusterTime": value}}} {
			client := &Client{}
			client.UpdateSnapshotTime(bsoncore.Document(marshal(reply)))
			assert.Equal(t, isTime, client.SnapshotTimeSet, "%v", reply)
		}
		for _, reply := range []any{bson.M{"$clusterTime": value}, bson.M{"$clusterTime": bson.M{"clusterTime": value}}} {
			raw := marshal(reply)
			_, _, isLater := raw.Lookup("$clusterTime", "clusterTime").TimestampOK()
			assert.Equal(t, isLater, string(MaxClusterTime(start, raw)) == string(raw), "%v", reply)
		}
	}
	for _, time := range []bson.Timestamp{{I: 1}, {T: 1}} {
		known := marshal(bson.M{"$clusterTime": bson.M{"clusterTime": time}})
		for _, other := range []bson.Raw{nil, marshal(bson.M{})} {
			assert.Equal(t, known, MaxClusterTime(known, other), "the first clusterTime")
			assert.Equal(t, known, MaxClusterTime(other, known), "the first clusterTime")
		}
	}
	var none *Client // no session
	none.UpdateRecoveryToken(marshal(bson.M{"recoveryToken": bson.D{}}))
	none.UpdateSnapshotTime(bsoncore.Document(marshal(bson.M{"atClusterTime": bson.Timestamp{T: 1}})))
}
