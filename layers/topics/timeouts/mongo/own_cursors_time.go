package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// The context's deadline or, if it has none, the client's Timeout is for all commands of the call.
//
//fork:wrap each getMore had the Timeout anew, and closing the cursor had no end
func (iv IndexView) ListSpecifications(
	ctx context.Context, opts ...options.Lister[options.ListIndexesOptions],
) ([]IndexSpecification, error) {
	ctx, cancel := withTimeout(ctx, iv.coll.client.timeout)
	defer cancel()
	return iv.upstreamListSpecifications(ctx, opts...)
}

// The context's deadline or, if it has none, the client's Timeout is for all commands of the call.
//
//fork:wrap each getMore had the Timeout anew, and closing the cursor had no end
func (db *Database) ListCollectionSpecifications(
	ctx context.Context, filter any, opts ...options.Lister[options.ListCollectionsOptions],
) ([]CollectionSpecification, error) {
	ctx, cancel := withTimeout(ctx, db.client.timeout)
	defer cancel()
	return db.upstreamListCollectionSpecifications(ctx, filter, opts...)
}
