//fork:base >=v2.10.0

package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// dropEncryptedCollection drops the collections with the state of an encrypted collection, and then the collection itself.
//
//fork:replace the error of a later command said that nothing was dropped
func (coll *Collection) dropEncryptedCollection(ctx context.Context, ef any, additionalCmd bson.D) error {
	return coll.dropWithState(ef, func(c *Collection) error {
		if c == coll { // those with the state get no additional fields
			return c.drop(ctx, additionalCmd)
		}
		return c.drop(ctx, nil)
	})
}
