//fork:base <v2.10.0

package mongo

import "context"

//fork:replace the error of a later command said that nothing was dropped
func (coll *Collection) dropEncryptedCollection(ctx context.Context, ef any) error {
	return coll.dropWithState(ef, func(c *Collection) error { return c.drop(ctx) })
}
