package mongo

import (
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// storedFile is a file of a bucket, of two chunks.
var (
	storedFile = bson.D{{Key: "_id", Value: 1}, {Key: "length", Value: int64(6)}, {Key: "chunkSize", Value: int32(4)},
		{Key: "uploadDate", Value: bson.DateTime(1)}, {Key: "filename", Value: "a"}, {Key: "metadata", Value: bson.D{}}}
	firstChunk = bson.D{{Key: "_id", Value: 1}, {Key: "files_id", Value: 1}, {Key: "n", Value: int32(0)},
		{Key: "data", Value: []byte("abcd")}}
	secondChunk = bson.D{{Key: "_id", Value: 2}, {Key: "files_id", Value: 1}, {Key: "n", Value: int32(1)},
		{Key: "data", Value: []byte("ef")}}
)

// otherTypes are values of types that a field may have when a server, or who writes to a bucket, stores what drivers do not.
var otherTypes = []any{
	nil, "text", 1.5, true, bson.D{}, bson.D{{Key: "a", Value: 1}}, bson.A{}, bson.NewObjectID(), bson.Regex{Pattern: "a"},
	bson.MinKey{}, bson.DateTime(1), bson.Timestamp{T: 1}, bson.Decimal128{}, bson.Binary{},
	bson.Binary{Subtype: 2, Data: []byte("ab")},
	int32(-1), int32(0), int32(math.MaxInt32), int64(0), int64(math.MinInt64), int64(math.MaxInt64), int64(1) << 32, int64(1)<<32 + 1,
}

// with returns the document with a field of another value; without it, if the value is absent.
func with(doc bson.D, key string, value any) bson.D {
	changed := bson.D{}
	for _, element := range doc {
		switch {
		case element.Key != key:
			changed = append(changed, element)
		case value != absent:
			changed = append(changed, bson.E{Key: key, Value: value})
		}
	}
	return changed
}

var absent = new(int)
