package driver

import "go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

// updateOperationTime advances the session's operation time to that of the reply, if it has one.
//
//fork:wrap a time that is no timestamp made it panic
func (op Operation) updateOperationTime(response bsoncore.Document) {
	if _, _, ok := response.Lookup("operationTime").TimestampOK(); ok {
		op.upstreamUpdateOperationTime(response)
	}
}
