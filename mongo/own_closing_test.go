package mongo

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
)

// ownCleanUps are of commits, and of cursors and transactions that the driver opens and ends itself.
var ownCleanUps = []cleanUp{
	{name: "the indexes of a bucket, getMore fails",
		replies: []any{scripted.OK(firstBatch(7, bson.D{{Key: "key", Value: bson.D{{Key: "_id", Value: 1}}}}))},
		run: func(ctx context.Context, c *Collection) error {
			_, err := hasNumericalIndex(ctx, c.Indexes(), IndexModel{Keys: bson.D{{Key: "n", Value: 1}}})
			return err
		}, commands: []string{"listIndexes", "getMore", "getMore", "getMore", "getMore", "killCursors"}},
	{name: "ChangeStream.Next, resume", replies: []any{scripted.OK(firstBatch(7)), scripted.Failure(1, resumableErrorLabel)},
		run:      withStream(func(ctx context.Context, s *ChangeStream) error { s.Next(ctx); return s.Err() }),
		commands: []string{"aggregate", "getMore", "killCursors", "aggregate", "aggregate", "aggregate", "aggregate"}},
	{name: "ChangeStream.Next, no resume token", replies: []any{scripted.OK(firstBatch(7, bson.D{}))},
		run:      withStream(func(ctx context.Context, s *ChangeStream) error { s.Next(ctx); return s.Err() }),
		commands: []string{"aggregate", "killCursors"}},
	{name: "GridFSBucket.UploadFromStream, indexes",
		replies: []any{scripted.OK(firstBatch(0)), scripted.OK(firstBatch(7,
			bson.D{{Key: "key", Value: bson.D{{Key: "filename", Value: 1}, {Key: "uploadDate", Value: 1}}}}))},
		run: func(ctx context.Context, c *Collection) error {
			_, err := c.Database().GridFSBucket().UploadFromStream(ctx, "file", content())
			return err
		}, commands: []string{"find", "listIndexes", "killCursors", "listIndexes", "listIndexes", "listIndexes", "listIndexes"}},
	{name: "Client.BulkWrite", replies: []any{scripted.OK(firstBatch(7))},
		run: func(ctx context.Context, c *Collection) error {
			_, err := c.client.BulkWrite(ctx, []ClientBulkWrite{
				{Database: "db", Collection: "a", Model: &ClientInsertOneModel{Document: bson.D{}}},
			})
			return err
		}, commands: []string{"bulkWrite", "getMore", "getMore", "getMore", "getMore", "killCursors"}},
	{name: "Session.CommitTransaction", replies: []any{scripted.OK()}, run: ending((*Session).CommitTransaction),
		commands: []string{"insert", "commitTransaction", "commitTransaction", "commitTransaction", "commitTransaction"}},
	{name: "WithTransaction, commit", replies: []any{scripted.OK()}, run: insertWithTransaction,
		commands: []string{"insert", "commitTransaction", "commitTransaction", "commitTransaction", "commitTransaction"}},
	{name: "WithTransaction, abort", replies: []any{scripted.Failure(1)}, run: insertWithTransaction,
		commands: []string{"insert", "abortTransaction", "abortTransaction", "abortTransaction", "abortTransaction"}},
}

// TestOwnCleanUpEndsWithTheDeadline: the deadline of the call that opened the cursor is the one of its end.
func TestOwnCleanUpEndsWithTheDeadline(t *testing.T) { cleanUpsEndWithTheDeadline(t, ownCleanUps) }
