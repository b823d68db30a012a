package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

//fork:wrap the result of its killCursors is ignored
func (db *Database) ListCollectionNames(
	ctx context.Context,
	filter any,
	opts ...options.Lister[options.ListCollectionsOptions],
) ([]string, error) {
	return db.upstreamListCollectionNames(withOwnCursor(ctx), filter, opts...)
}

// execute sends the bulk write and reads its results.
//
//fork:wrap the result of its killCursors is ignored
func (bw *clientBulkWrite) execute(ctx context.Context) error {
	return bw.upstreamExecute(withOwnCursor(ctx))
}

// cryptKeys reads data keys from the key vault.
//
//fork:wrap the result of its killCursors is ignored
func (kr *keyRetriever) cryptKeys(ctx context.Context, filter bsoncore.Document) ([]bsoncore.Document, error) {
	return kr.upstreamCryptKeys(withOwnCursor(ctx), filter)
}

// cryptCollInfo reads the options of a collection.
//
//fork:wrap the result of its killCursors is ignored
func (cir *collInfoRetriever) cryptCollInfo(
	ctx context.Context, db string, filter bsoncore.Document,
) (bsoncore.Document, error) {
	return cir.upstreamCryptCollInfo(withOwnCursor(ctx), db, filter)
}
