package driver

import (
	"bytes"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// updateClusterTimes tells the session and the clock the reply's cluster time.
//
//fork:replace a document was built for each reply, in five steps, although most replies have the time that the clock has
func (op Operation) updateClusterTimes(response bsoncore.Document) {
	value, err := response.LookupErr(clusterTimeKey)
	if err != nil {
		return
	}
	var clusterTime bson.Raw
	if op.Clock != nil {
		clusterTime = op.Clock.GetClusterTime()
	}
	if !isClusterTime(clusterTime, value) {
		clusterTime = clusterTimeOf(value)
	}
	if op.Client != nil {
		_ = op.Client.AdvanceClusterTime(clusterTime) // a session that has ended needs no time
	}
	if op.Clock != nil {
		op.Clock.AdvanceClusterTime(clusterTime)
	}
}

const clusterTimeKey = "$clusterTime"

// clusterTimeOf returns a document of the cluster time alone.
func clusterTimeOf(value bsoncore.Value) bson.Raw {
	const around = lengthSize + 1 + len(clusterTimeKey) + 1 + 1 // the type, and a zero after the key and at the end
	doc := make([]byte, lengthSize, around+len(value.Data))
	doc = bsoncore.AppendValueElement(doc, clusterTimeKey, value)
	return bsoncore.UpdateLength(append(doc, 0), 0, int32(len(doc)+1))
}

// isClusterTime reports whether clusterTimeOf would return this document.
func isClusterTime(doc bson.Raw, value bsoncore.Value) bool {
	const start = lengthSize + 1 + len(clusterTimeKey) + 1
	return len(doc) == start+len(value.Data)+1 && bsoncore.Type(doc[lengthSize]) == value.Type &&
		string(doc[lengthSize+1:start]) == clusterTimeKey+"\x00" && bytes.Equal(doc[start:len(doc)-1], value.Data)
}
