package driver

import (
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

const (
	lengthSize     = 4 // of the number at a document's start
	clusterTimeKey = "$clusterTime"
)

// A reply without any error is only read.
//
//fork:wrap each reply's elements were collected, although few replies have an error
func ExtractErrorFromServerResponse(doc bsoncore.Document) error {
	if succeeded(doc) {
		return nil
	}
	return upstreamExtractErrorFromServerResponse(doc)
}

// succeeded reports whether a reply is well formed, says that the command succeeded, and has no field for errors of writes.
func succeeded(doc bsoncore.Document) bool {
	total, rest, valid := bsoncore.ReadLength(doc)
	okay := false
	for left := int(total) - lengthSize; valid && left > 1; {
		var elem bsoncore.Element
		elem, rest, valid = bsoncore.ReadElement(rest)
		if !valid || elem.Validate() != nil {
			return false
		}
		left -= len(elem)
		switch string(elem.KeyBytes()) {
		case "writeErrors", "writeConcernError":
			return false
		case "ok":
			okay = okay || isOne(elem.Value())
		}
	}
	return valid && okay
}

// isOne reports whether the value is 1 or true.
func isOne(val bsoncore.Value) bool {
	is, _ := val.BooleanOK()
	number, ok := val.AsFloat64OK()
	return is || ok && number == 1 && val.Type != bsoncore.TypeDecimal128
}

// updateClusterTimes tells the session and the clock the reply's cluster time, in a document of its own.
//
//fork:replace the document was built in five allocations
func (op Operation) updateClusterTimes(response bsoncore.Document) {
	value, err := response.LookupErr(clusterTimeKey)
	if err != nil {
		return
	}
	const around = lengthSize + 1 + len(clusterTimeKey) + 1 + 1 // the type, and a zero after the key and at the end
	doc := append(make([]byte, 0, around+len(value.Data)), make([]byte, lengthSize)...)
	doc = append(bsoncore.AppendValueElement(doc, clusterTimeKey, value), 0)
	clusterTime := bson.Raw(bsoncore.UpdateLength(doc, 0, int32(len(doc))))
	if op.Client != nil {
		_ = op.Client.AdvanceClusterTime(clusterTime) // a session that has ended needs no time
	}
	if op.Clock != nil {
		op.Clock.AdvanceClusterTime(clusterTime)
	}
}

// getCommandName returns the name of a command, which is the key of its first element.
//
//fork:wrap the name of nearly every command is the operation's, and need not be made of the command's bytes
func (op Operation) getCommandName(doc []byte) string {
	const start = lengthSize + 1 // the type
	if end := start + len(op.Name); end < len(doc) && doc[end] == 0 && string(doc[start:end]) == op.Name {
		return op.Name
	}
	return op.upstreamGetCommandName(doc)
}
