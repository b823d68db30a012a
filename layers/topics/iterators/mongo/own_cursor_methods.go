package mongo

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// ListCollectionNames executes a listCollections command and returns a slice with the names of the collections in the
// database. Of a database with more than 100 collections, MongoDB 2.6 does not list all.
// This method requires driver version >= 1.1.0, that is, any v2.
//
// The filter parameter must be a document of query operators, which selects the collections whose names are included in the result. It
// cannot be nil. To include all collections, use an empty document, such as bson.D{}.
//
// The opts parameter can be used to specify options for the operation (see the documentation of the type
// options.ListCollectionsOptions).
//
// For more information about the command, see https://www.mongodb.com/docs/manual/reference/command/listCollections/.
//
//fork:replace nobody sees the result of its killCursors; a failed getMore ended the list without an error
func (db *Database) ListCollectionNames(
	ctx context.Context, filter any, opts ...options.Lister[options.ListCollectionsOptions],
) ([]string, error) {
	ctx, cancel := withTimeout(ctx, db.client.timeout)
	defer cancel()
	cursor, err := db.ListCollections(ctx, filter, append(opts[:len(opts):len(opts)], options.ListCollections().SetNameOnly(true))...)
	if err != nil {
		return nil, err
	}
	defer cursor.discard(ctx)

	names := make([]string, 0) // not nil, even of an empty database
	for cursor.Next(ctx) {
		value, err := cursor.Current.LookupErr("name")
		if err != nil {
			return nil, err
		}
		name, ok := value.StringValueOK()
		if !ok {
			return nil, fmt.Errorf("incorrect type for 'name'. got %v. want %v", value.Type, bson.TypeString)
		}
		names = append(names, name)
	}
	if err := cursor.Err(); err != nil {
		return nil, err
	}
	return names, nil
}

// cryptKeys reads data keys from the key vault, in no session: that of the context may be another client's.
//
//fork:replace nobody sees the result of its killCursors
func (kr *keyRetriever) cryptKeys(ctx context.Context, filter bsoncore.Document) ([]bsoncore.Document, error) {
	ctx = NewSessionContext(ctx, nil)
	cursor, err := kr.coll.Find(ctx, filter)
	if err != nil {
		return nil, EncryptionKeyVaultError{Wrapped: err}
	}
	defer cursor.discard(ctx)

	var keys []bsoncore.Document
	for cursor.Next(ctx) {
		keys = append(keys, append(bsoncore.Document(nil), cursor.Current...)) // Current is valid until the next Next
	}
	if err := cursor.Err(); err != nil {
		return nil, EncryptionKeyVaultError{Wrapped: err}
	}
	return keys, nil
}

// cryptCollInfo reads the options of a collection, in no session: that of the context may be another client's.
//
//fork:replace nobody sees the result of its killCursors
func (cir *collInfoRetriever) cryptCollInfo(
	ctx context.Context, db string, filter bsoncore.Document,
) (bsoncore.Document, error) {
	ctx = NewSessionContext(ctx, nil)
	cursor, err := cir.client.Database(db).ListCollections(ctx, filter)
	if err != nil {
		return nil, err
	}
	defer cursor.discard(ctx)

	if !cursor.Next(ctx) {
		return nil, cursor.Err() // no error if there is no such collection
	}
	return append(bsoncore.Document(nil), cursor.Current...), nil
}

// A cursor that the server leaves open, though it has counted, is closed.
//
//fork:wrap behind a load balancer it kept its connection
func (coll *Collection) CountDocuments(
	ctx context.Context, filter any, opts ...options.Lister[options.CountOptions],
) (int64, error) {
	if ctx == nil {
		ctx = context.Background()
	}
	purpose := backpressure.PurposeOf(ctx)
	purpose.FirstBatch = true
	return coll.upstreamCountDocuments(backpressure.WithPurpose(ctx, purpose), filter, opts...)
}
