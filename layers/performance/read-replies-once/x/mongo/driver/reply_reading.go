package driver

import (
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// A reply that is well formed, says that the command succeeded, and has no field for errors of writes, is only read.
//
//fork:wrap each reply's elements were collected, although few replies have an error
func ExtractErrorFromServerResponse(doc bsoncore.Document) error {
	total, rest, plain := bsoncore.ReadLength(doc)
	succeeded := false
	for left := int(total) - 4; plain && left > 1; { // without the length itself, up to the final zero
		var elem bsoncore.Element
		elem, rest, plain = bsoncore.ReadElement(rest)
		if !plain || elem.Validate() != nil { // a document in it may be shorter than its length
			plain = false
			break
		}
		left -= len(elem)
		switch string(elem.KeyBytes()) {
		case "writeErrors", "writeConcernError":
			plain = false
		case "ok":
			val := elem.Value()
			isTrue, _ := val.BooleanOK()
			number, ok := val.AsFloat64OK() // of any type but Decimal128
			succeeded = succeeded || isTrue || ok && number == 1
		}
	}
	if plain && succeeded {
		return nil
	}
	return upstreamExtractErrorFromServerResponse(doc)
}

// updateClusterTimes tells the session and the clock the reply's cluster time, in a document of its own.
//
//fork:replace the document was built in five allocations
func (op Operation) updateClusterTimes(response bsoncore.Document) {
	const key, lengthSize = "$clusterTime", 4
	value, err := response.LookupErr(key)
	if err != nil {
		return
	}
	doc := make([]byte, lengthSize, lengthSize+1+len(key)+1+len(value.Data)+1) // the type, and a zero after the key and at the end
	doc = append(bsoncore.AppendValueElement(doc, key, value), 0)
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
	const start = 4 + 1 // its length, and the type
	if end := start + len(op.Name); end < len(doc) && doc[end] == 0 && string(doc[start:end]) == op.Name {
		return op.Name
	}
	return op.upstreamGetCommandName(doc)
}
