package mongo

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
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
//fork:wrap the result of its killCursors is ignored; an interrupted write tells the context's error as well
func (bw *clientBulkWrite) execute(ctx context.Context) error {
	ctx, outcome := withOutcome(withOwnCursor(ctx))
	err := bw.upstreamExecute(ctx)
	var failed driver.WriteCommandError
	if outcome.Interruption != nil && errors.As(err, &failed) && failed.WriteConcernError != nil {
		concern := convertDriverWriteConcernError(failed.WriteConcernError)
		return outcome.Interruption.Around(ClientBulkWriteException{WriteConcernErrors: []WriteConcernError{*concern}})
	}
	return exceptionOf(err, outcome)
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
