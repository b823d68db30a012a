package mongo

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/internal/csfle"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

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
