//fork:base <v2.9.2

package mongo

import (
	"context"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// A model's Database may not contain a dot: the command names database and collection in one string, which the server divides at
// the first dot, so the write would go to another database. The error says which model, and nothing is sent.
//
//fork:wrap whoever chose a database name could write into another database
func (c *Client) BulkWrite(ctx context.Context, writes []ClientBulkWrite,
	opts ...options.Lister[options.ClientBulkWriteOptions],
) (*ClientBulkWriteResult, error) {
	for i := range writes {
		if strings.Contains(writes[i].Database, ".") {
			return nil, fmt.Errorf("write %d names the database %q, which has a dot", i, writes[i].Database)
		}
	}
	return c.upstreamBulkWrite(ctx, writes, opts...)
}
