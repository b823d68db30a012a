package mongo

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/csfle"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Drop drops the collection on the server. A collection that does not exist is no error.
//
// Of a collection with encrypted fields, the two collections with its state are dropped as well: up to four commands, which the
// context's deadline or, if it has none, the client's Timeout limits together.
//
//fork:wrap each of the commands had the client's Timeout anew
func (coll *Collection) Drop(ctx context.Context, opts ...options.Lister[options.DropCollectionOptions]) error {
	ctx, cancel := withTimeout(ctx, coll.client.timeout)
	defer cancel()
	return coll.upstreamDrop(ctx, opts...)
}

// createCollectionWithEncryptedFields sends several commands. Its error does not tell which one failed, so it never says that none was
// executed.
//
//fork:wrap the error said that nothing was executed
func (db *Database) createCollectionWithEncryptedFields(
	ctx context.Context, name string, ef any, opts ...options.Lister[options.CreateCollectionOptions],
) error {
	return ofLaterCommand(db.upstreamCreateCollectionWithEncryptedFields(ctx, name, ef, opts...))
}

// dropWithState drops the two collections with the state of an encrypted collection, and then the collection itself. Its error says that
// nothing was dropped only if it is the first one's.
func (coll *Collection) dropWithState(encryptedFields any, drop func(*Collection) error) error {
	fields, err := marshal(encryptedFields, coll.bsonOpts, coll.registry)
	if err != nil {
		return fmt.Errorf("encrypted fields: %w", err)
	}
	for i, kind := range []string{csfle.EncryptedStateCollection, csfle.EncryptedCompactionCollection} {
		name, err := csfle.GetEncryptedStateCollectionName(fields, coll.name, kind)
		if err != nil {
			return err
		}
		err = drop(coll.db.Collection(name))
		switch {
		case err != nil && i > 0:
			return ofLaterCommand(err)
		case err != nil:
			return err
		}
	}
	return ofLaterCommand(drop(coll))
}
