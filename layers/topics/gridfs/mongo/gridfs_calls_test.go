package mongo

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// TestGridFSStreamsEndTheirContexts is about the contexts that streams make for the client's Timeout.
func TestGridFSStreamsEndTheirContexts(t *testing.T) {
	s := scripted.New(t, foundFile, scripted.OK(firstBatch(0)),
		scripted.OK(firstBatch(0, bson.D{{Key: "_id", Value: 1}})), scripted.OK())
	bucket := connectScript(t, s, options.Client().SetTimeout(time.Minute)).Database("db").GridFSBucket()
	stream, err := bucket.OpenDownloadStream(context.Background(), 1)
	require.NoError(t, err)
	require.NoError(t, stream.ctx.Err())
	require.NoError(t, stream.Close())
	assert.Equal(t, context.Canceled, stream.ctx.Err())
	assert.Equal(t, ErrStreamClosed, stream.Close())

	upload, err := bucket.OpenUploadStream(context.Background(), "file")
	require.NoError(t, err)
	require.NoError(t, upload.Abort())
	assert.Equal(t, context.Canceled, upload.ctx.Err())
}

// TestGridFSCleanUpEndsWithTheDeadline is about the cursors of a bucket.
func TestGridFSCleanUpEndsWithTheDeadline(t *testing.T) {
	calls := []cleanUp{
		{name: "GridFSDownloadStream.Close", replies: []any{foundFile, scripted.OK(firstBatch(7))},
			run:      withDownload((*GridFSDownloadStream).Close),
			commands: []string{"find", "find", "killCursors", "killCursors", "killCursors", "killCursors"}},
		{name: "the indexes of a bucket, getMore fails",
			replies: []any{scripted.OK(firstBatch(7, bson.D{{Key: "key", Value: bson.D{{Key: "_id", Value: 1}}}}))},
			run: func(ctx context.Context, c *Collection) error {
				_, err := hasNumericalIndex(ctx, c.Indexes(), IndexModel{Keys: bson.D{{Key: "n", Value: 1}}})
				return err
			}, commands: []string{"listIndexes", "getMore", "getMore", "getMore", "getMore", "killCursors"}},
		{name: "GridFSBucket.UploadFromStream, indexes",
			replies: []any{scripted.OK(firstBatch(0)), scripted.OK(firstBatch(7,
				bson.D{{Key: "key", Value: bson.D{{Key: "filename", Value: 1}, {Key: "uploadDate", Value: 1}}}}))},
			run: func(ctx context.Context, c *Collection) error {
				_, err := c.Database().GridFSBucket().UploadFromStream(ctx, "file", content())
				return err
			}, commands: []string{"find", "listIndexes", "killCursors", "listIndexes", "listIndexes", "listIndexes", "listIndexes"}},
	}
	cleanUpsEndWithTheDeadline(t, calls)
	cleanUpsSpendTokensForRetriesAlone(t, calls)
}

// TestErrorsOfLaterCommandsOfGridFS is about the methods of a bucket that send several commands.
func TestErrorsOfLaterCommandsOfGridFS(t *testing.T) {
	testErrorsOfLaterCommands(t, map[string]severalCommands{
		"the indexes of a bucket": {run: func(ctx context.Context, db *Database) error {
			return db.GridFSBucket().createIndexes(ctx)
		}, commands: 5},
		"GridFSBucket.Drop": {run: func(ctx context.Context, db *Database) error {
			return db.GridFSBucket().Drop(ctx)
		}, commands: 2},
		"GridFSBucket.Delete": {run: func(ctx context.Context, db *Database) error {
			return db.GridFSBucket().Delete(ctx, 1)
		}, commands: 2},
		"GridFSBucket.Rename": {run: func(ctx context.Context, db *Database) error {
			return db.GridFSBucket().Rename(ctx, 1, "new")
		}, commands: 1},
	})
}
