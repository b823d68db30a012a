package topology

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// rebuild returns doc without the named elements, and then whatever add appends. Doc is valid, and is not touched.
func rebuild(doc bson.Raw, without []string, add func([]byte) []byte) bson.Raw {
	start, dst := bsoncore.AppendDocumentStart(make([]byte, 0, len(doc)+256))
	elements, _ := doc.Elements()
	for _, element := range elements {
		if !slices.Contains(without, element.Key()) {
			dst = append(dst, element...)
		}
	}
	if add != nil {
		dst = add(dst)
	}
	dst, _ = bsoncore.AppendDocumentEnd(dst, start)
	return dst
}

// has tells whether doc has the element.
func has(doc bson.Raw, key string) bool {
	_, err := doc.LookupErr(key)
	return err == nil
}

// isTrue tells whether a value is a true boolean, or a number other than 0, as servers take either.
func isTrue(value bson.RawValue) bool {
	if b, ok := value.BooleanOK(); ok {
		return b
	}
	n, ok := number(value)
	return ok && n != 0
}

// number returns a value of any of the numeric types that clients use.
func number(value bson.RawValue) (int64, bool) {
	if f, ok := value.DoubleOK(); ok {
		return int64(f), true
	}
	return value.AsInt64OK()
}

func succeeded(reply bson.Raw) bool { return isTrue(reply.Lookup("ok")) }
