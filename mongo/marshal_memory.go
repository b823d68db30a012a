package mongo

import (
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/inmemory"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// outputs are those that no document is encoded to at present.
var outputs = sync.Pool{New: func() any { return &inmemory.Output{} }}

// marshal encodes a value as a document, with the default registry unless there is another. The bytes of a []byte are a document.
//
//fork:replace a writer, and a buffer that grew from nothing, were made for each document
func marshal(val any, bsonOpts *options.BSONOptions, registry *bson.Registry) (bsoncore.Document, error) {
	switch v := val.(type) {
	case nil:
		return nil, ErrNilDocument
	case []byte:
		val = bson.Raw(v)
	}
	if registry == nil {
		registry = defaultRegistry
	}
	out := outputs.Get().(*inmemory.Output)
	if err := getEncoder(out, bsonOpts, registry).Encode(val); err != nil {
		return nil, MarshalError{Value: val, Err: err}
	}
	doc := out.Bytes
	out.Bytes = nil
	outputs.Put(out)
	return doc, nil
}
