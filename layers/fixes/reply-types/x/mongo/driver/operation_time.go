package driver

import "go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

// A time that is no timestamp counts as missing, and so does the zero timestamp, which a newly started member may send: servers refuse
// it as an afterClusterTime.
//
//fork:wrap a time that is no timestamp made it panic; a session whose first reply had a zero operationTime could not read
func (op Operation) updateOperationTime(response bsoncore.Document) {
	if t, i, ok := response.Lookup("operationTime").TimestampOK(); !ok || t == 0 && i == 0 {
		return
	}
	op.upstreamUpdateOperationTime(response)
}
