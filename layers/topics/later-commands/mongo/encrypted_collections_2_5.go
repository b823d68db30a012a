//fork:base <v2.10.0

package mongo

import "context"

// dropEncryptedCollection drops the collections with the state of an encrypted collection, and then the collection itself.
//
//fork:replace the error of a later command said that nothing was dropped
func (coll *Collection) dropEncryptedCollection(ctx context.Context, ef any) error {
	return coll.dropWithState(ef, func(c *Collection) error { return c.drop(ctx) })
}
