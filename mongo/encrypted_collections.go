package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/internal/csot"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Drop drops the collection on the server. A collection that does not exist is no error.
//
// Of a collection with encrypted fields, the two collections with its state are dropped as well: up to four commands, which the
// context's deadline or, if it has none, the client's Timeout limits together.
//
//fork:wrap each of the commands had the client's Timeout anew
func (coll *Collection) Drop(ctx context.Context, opts ...options.Lister[options.DropCollectionOptions]) error {
	ctx, cancel := withClientTimeout(ctx, coll.client)
	defer cancel()
	return coll.upstreamDrop(ctx, opts...)
}

//fork:wrap only the last of the commands had the client's Timeout
func (db *Database) createCollectionWithEncryptedFields(
	ctx context.Context, name string, ef any, opts ...options.Lister[options.CreateCollectionOptions],
) error {
	ctx, cancel := withClientTimeout(ctx, db.client)
	defer cancel()
	return db.upstreamCreateCollectionWithEncryptedFields(ctx, name, ef, opts...)
}

// withClientTimeout gives an operation of several commands one timeout (client-side-operations-timeout.md, "Background").
func withClientTimeout(ctx context.Context, client *Client) (context.Context, context.CancelFunc) {
	if ctx == nil {
		ctx = context.Background()
	}
	return csot.WithTimeout(ctx, client.timeout)
}
