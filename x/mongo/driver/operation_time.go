package driver

import (
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// updateOperationTime advances the session's operation time to that of the reply, if it has one.
//
//fork:replace a time that is no timestamp made it panic
func (op Operation) updateOperationTime(response bsoncore.Document) {
	if op.Client == nil {
		return
	}
	if t, i, ok := response.Lookup("operationTime").TimestampOK(); ok {
		_ = op.Client.AdvanceOperationTime(&bson.Timestamp{T: t, I: i})
	}
}
