package driver

import "go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

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

// lengthSize is the size of the number at a document's start.
const lengthSize = 4

// isOne reports whether the value is 1 or true.
func isOne(val bsoncore.Value) bool {
	switch val.Type {
	case bsoncore.TypeDouble:
		return val.Double() == 1
	case bsoncore.TypeInt32:
		return val.Int32() == 1
	case bsoncore.TypeInt64:
		return val.Int64() == 1
	default:
		is, ok := val.BooleanOK()
		return ok && is
	}
}
