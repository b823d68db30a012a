package mongo

import (
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/inmemory"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// documentEncoder encodes documents, one after the other.
type documentEncoder struct {
	bson.Encoder
	output inmemory.Output
}

// documentEncoders are those that are not in use.
var documentEncoders = sync.Pool{New: func() any { return &documentEncoder{} }}

// marshal encodes a value as a document, with the default registry unless there is another. The bytes of a []byte are a document. The
// encoders of another registry are the application's, and may keep the writer that they get: it is not used again.
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
	var enc *documentEncoder
	if registry == defaultRegistry {
		enc = documentEncoders.Get().(*documentEncoder)
	} else {
		enc = &documentEncoder{output: inmemory.Output{Borrowed: true}}
	}
	if bsonOpts == nil {
		enc.Encoder = *bson.NewEncoder(bson.NewDocumentWriter(&enc.output)) // inlined, it is not on the heap; that of getEncoder is
		enc.SetRegistry(registry)
	} else {
		enc.Encoder = *getEncoder(&enc.output, bsonOpts, registry)
	}
	if err := enc.Encode(val); err != nil {
		return nil, MarshalError{Value: val, Err: err} // whatever was written of it goes with the encoder
	}
	doc := enc.output.Bytes
	if !enc.output.Borrowed {
		enc.Encoder, enc.output.Bytes = bson.Encoder{}, nil // the pool keeps no document
		documentEncoders.Put(enc)
	}
	return doc, nil
}
