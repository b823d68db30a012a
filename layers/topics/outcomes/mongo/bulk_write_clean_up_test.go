package mongo

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
)

// TestBulkWriteCleanUpEndsWithTheDeadline is about the cursor of the results.
func TestBulkWriteCleanUpEndsWithTheDeadline(t *testing.T) {
	calls := []cleanUp{
		{name: "Client.BulkWrite", replies: []any{scripted.OK(firstBatch(7))},
			run: func(ctx context.Context, c *Collection) error {
				_, err := c.client.BulkWrite(ctx, []ClientBulkWrite{
					{Database: "db", Collection: "a", Model: &ClientInsertOneModel{Document: bson.D{}}},
				})
				return err
			}, commands: []string{"bulkWrite", "getMore", "getMore", "getMore", "getMore", "killCursors"}},
	}
	cleanUpsEndWithTheDeadline(t, calls)
	cleanUpsSpendTokensForRetriesAlone(t, calls)
}
