package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// The context's deadline or, if it has none, the client's Timeout ends the backoffs.
//
//fork:wrap the client's Timeout does not apply to create
func (db *Database) CreateCollection(
	ctx context.Context, name string, opts ...options.Lister[options.CreateCollectionOptions],
) error {
	return db.upstreamCreateCollection(limitBackoffs(ctx, db.client.timeout), name, opts...)
}

// The context's deadline or, if it has none, the client's Timeout ends the backoffs.
//
//fork:wrap the client's Timeout does not apply to create
func (db *Database) CreateView(
	ctx context.Context, viewName, viewOn string, pipeline any, opts ...options.Lister[options.CreateViewOptions],
) error {
	return db.upstreamCreateView(limitBackoffs(ctx, db.client.timeout), viewName, viewOn, pipeline, opts...)
}

// The context's deadline or, if it has none, the client's Timeout ends the backoffs.
//
//fork:wrap the client's Timeout does not apply to dropDatabase
func (db *Database) Drop(ctx context.Context) error {
	return db.upstreamDrop(limitBackoffs(ctx, db.client.timeout))
}
