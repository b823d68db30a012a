package driver

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/session"
)

func TestOperationTimeOfReplies(t *testing.T) {
	for _, value := range []any{
		nil, int32(1), "text", bson.A{}, bson.D{}, bson.Timestamp{}, bson.Timestamp{I: 1}, bson.Timestamp{T: 5, I: 6},
	} {
		reply, err := bson.Marshal(bson.M{"operationTime": value})
		require.NoError(t, err)

		op := Operation{Client: &session.Client{}}
		op.updateOperationTime(reply)

		time, isTime := value.(bson.Timestamp)
		assert.Equal(t, isTime && !time.IsZero(), op.Client.OperationTime != nil, "%v", value)
	}
}
