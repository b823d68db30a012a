package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// The context's deadline or, if it has none, the client's Timeout is for the whole call.
//
//fork:wrap the client's Timeout did not apply to create
func (db *Database) CreateCollection(
	ctx context.Context, name string, opts ...options.Lister[options.CreateCollectionOptions],
) error {
	ctx, cancel := withTimeout(ctx, db.client.timeout)
	defer cancel()
	return db.upstreamCreateCollection(ctx, name, opts...)
}

// The context's deadline or, if it has none, the client's Timeout is for the whole call.
//
//fork:wrap the client's Timeout did not apply to create
func (db *Database) CreateView(
	ctx context.Context, viewName, viewOn string, pipeline any, opts ...options.Lister[options.CreateViewOptions],
) error {
	ctx, cancel := withTimeout(ctx, db.client.timeout)
	defer cancel()
	return db.upstreamCreateView(ctx, viewName, viewOn, pipeline, opts...)
}

// The context's deadline or, if it has none, the client's Timeout is for the whole call.
//
//fork:wrap the client's Timeout did not apply to dropDatabase
func (db *Database) Drop(ctx context.Context) error {
	ctx, cancel := withTimeout(ctx, db.client.timeout)
	defer cancel()
	return db.upstreamDrop(ctx)
}

// Of a collection with encrypted fields, the two collections with its state are dropped as well: up to four commands, which the
// context's deadline or, if it has none, the client's Timeout limits together.
//
//fork:wrap each of the commands had the client's Timeout anew
func (coll *Collection) Drop(ctx context.Context, opts ...options.Lister[options.DropCollectionOptions]) error {
	ctx, cancel := withTimeout(ctx, coll.client.timeout)
	defer cancel()
	return coll.upstreamDrop(ctx, opts...)
}
