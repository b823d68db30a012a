package mongo

import (
	"bytes"
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/overloadtest"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// The backoffs of these tests are 9 seconds each, which nobody waits for, and the deadline lets three of them begin.
const (
	longBackoff  = 9 * time.Second
	patience     = 30 * time.Second
	withinPeriod = 3
)

// newImpatientScript returns a script with long backoffs whose servers reject all commands after those with a reply.
func newImpatientScript(t *testing.T, replies ...any) *overloadtest.Script {
	s := overloadtest.New(t, replies...)
	s.Rest = overloadtest.Overloaded()
	s.Policy.Policy.FirstBackoff = retry.MaxBackoff
	s.Policy.Policy.Jitter = func() float64 { return float64(longBackoff) / float64(retry.MaxBackoff) }
	s.Policy.Policy.Bucket = retry.NewTokenBucket()
	return s
}

// commandNames returns the names of the commands that came to the servers.
func commandNames(t *testing.T, s *overloadtest.Script) []string {
	t.Helper()

	var names []string
	for _, sent := range s.Sent {
		elements, err := sent.Command.Elements()
		require.NoError(t, err)
		names = append(names, elements[0].Key())
	}
	return names
}

// cleanUps are calls in which the driver sends a command that the end of the caller's time does not cut off, or whose result
// nobody looks at. Each has the first replies, after which the servers reject all, and the commands that are then sent
// within the caller's deadline.
var cleanUps = []struct {
	name     string
	replies  []any
	run      func(context.Context, *Collection) error
	commands []string
	fails    bool
}{
	{
		"Cursor.All, decoding fails", []any{overloadtest.OK(batch("firstBatch", 7, bson.D{{Key: "x", Value: "text"}}))},
		func(ctx context.Context, c *Collection) error {
			cursor, err := c.Find(ctx, bson.D{})
			if err != nil {
				return err
			}
			return cursor.All(ctx, &[]struct{ X int }{})
		}, []string{"find", "killCursors"}, true,
	},
	{
		"Cursor.All, getMore fails", []any{overloadtest.OK(batch("firstBatch", 7, bson.D{}))},
		func(ctx context.Context, c *Collection) error {
			cursor, err := c.Find(ctx, bson.D{})
			if err != nil {
				return err
			}
			return cursor.All(ctx, &[]bson.D{})
		}, []string{"find", "getMore", "getMore", "getMore", "getMore", "killCursors"}, true,
	},
	{
		"Cursor.Close", []any{overloadtest.OK(batch("firstBatch", 7))},
		func(ctx context.Context, c *Collection) error {
			cursor, err := c.Find(ctx, bson.D{})
			if err != nil {
				return err
			}
			return cursor.Close(ctx)
		}, []string{"find", "killCursors", "killCursors", "killCursors", "killCursors"}, true,
	},
	{
		"ListCollectionNames", []any{overloadtest.OK(batch("firstBatch", 7, bson.D{{Key: "name", Value: 1}}))},
		func(ctx context.Context, c *Collection) error {
			_, err := c.Database().ListCollectionNames(ctx, bson.D{})
			return err
		}, []string{"listCollections", "killCursors"}, true,
	},
	{
		"ChangeStream.Next, resume", []any{
			overloadtest.OK(batch("firstBatch", 7)), overloadtest.Failure(1, resumableErrorLabel),
		},
		func(ctx context.Context, c *Collection) error {
			stream, err := c.Watch(ctx, Pipeline{})
			if err != nil {
				return err
			}
			stream.Next(ctx)
			return stream.Err()
		}, []string{"aggregate", "getMore", "killCursors", "aggregate", "aggregate", "aggregate", "aggregate"}, true,
	},
	{
		"ChangeStream.Next, no resume token", []any{overloadtest.OK(batch("firstBatch", 7, bson.D{}))},
		func(ctx context.Context, c *Collection) error {
			stream, err := c.Watch(ctx, Pipeline{})
			if err != nil {
				return err
			}
			stream.Next(ctx)
			return stream.Err()
		}, []string{"aggregate", "killCursors"}, true,
	},
	{
		"ChangeStream.Close", []any{overloadtest.OK(batch("firstBatch", 7))},
		func(ctx context.Context, c *Collection) error {
			stream, err := c.Watch(ctx, Pipeline{})
			if err != nil {
				return err
			}
			return stream.Close(ctx)
		}, []string{"aggregate", "killCursors", "killCursors", "killCursors", "killCursors"}, true,
	},
	{
		"GridFSDownloadStream.Read", []any{
			overloadtest.OK(batch("firstBatch", 0, bson.D{{Key: "_id", Value: 1}, {Key: "length", Value: 9}, {Key: "chunkSize", Value: 9}})),
			overloadtest.OK(batch("firstBatch", 7)),
		},
		func(ctx context.Context, c *Collection) error {
			stream, err := c.Database().GridFSBucket().OpenDownloadStream(ctx, 1)
			if err != nil {
				return err
			}
			_, err = stream.Read(make([]byte, 9))
			return err
		}, []string{"find", "find", "getMore", "getMore", "getMore", "getMore", "killCursors"}, true,
	},
	{
		"GridFSDownloadStream.Close", []any{
			overloadtest.OK(batch("firstBatch", 0, bson.D{{Key: "_id", Value: 1}, {Key: "length", Value: 9}, {Key: "chunkSize", Value: 9}})),
			overloadtest.OK(batch("firstBatch", 7)),
		},
		func(ctx context.Context, c *Collection) error {
			stream, err := c.Database().GridFSBucket().OpenDownloadStream(ctx, 1)
			if err != nil {
				return err
			}
			return stream.Close()
		}, []string{"find", "find", "killCursors", "killCursors", "killCursors", "killCursors"}, true,
	},
	{
		"GridFSBucket.UploadFromStream, indexes", []any{
			overloadtest.OK(batch("firstBatch", 0)),
			overloadtest.OK(batch("firstBatch", 7, bson.D{{Key: "key", Value: bson.D{{Key: "filename", Value: 1}, {Key: "uploadDate", Value: 1}}}})),
		},
		func(ctx context.Context, c *Collection) error {
			_, err := c.Database().GridFSBucket().UploadFromStream(ctx, "file", bytes.NewReader([]byte("content")))
			return err
		}, []string{"find", "listIndexes", "killCursors", "listIndexes", "listIndexes", "listIndexes", "listIndexes"}, true,
	},
	{
		"Client.BulkWrite", []any{overloadtest.OK(batch("firstBatch", 7))},
		func(ctx context.Context, c *Collection) error {
			_, err := c.client.BulkWrite(ctx, []ClientBulkWrite{
				{Database: "db", Collection: "a", Model: &ClientInsertOneModel{Document: bson.D{}}},
			})
			return err
		}, []string{"bulkWrite", "getMore", "getMore", "getMore", "getMore", "killCursors"}, true,
	},
	{
		"Session.CommitTransaction", []any{overloadtest.OK()},
		func(ctx context.Context, c *Collection) error {
			return endTransaction(ctx, c, (*Session).CommitTransaction)
		},
		[]string{"insert", "commitTransaction", "commitTransaction", "commitTransaction", "commitTransaction"}, true,
	},
	{
		"Session.AbortTransaction", []any{overloadtest.OK()},
		func(ctx context.Context, c *Collection) error {
			return endTransaction(ctx, c, (*Session).AbortTransaction)
		},
		[]string{"insert", "abortTransaction", "abortTransaction", "abortTransaction", "abortTransaction"}, false,
	},
	{
		"Session.EndSession", []any{overloadtest.OK()},
		func(ctx context.Context, c *Collection) error {
			return endTransaction(ctx, c, func(s *Session, ctx context.Context) error { s.EndSession(ctx); return nil })
		}, []string{"insert", "abortTransaction", "abortTransaction", "abortTransaction", "abortTransaction"}, false,
	},
	{
		"WithTransaction, commit", []any{overloadtest.OK()},
		func(ctx context.Context, c *Collection) error {
			return runTransaction(ctx, c, func(ctx context.Context) error { _, err := c.InsertOne(ctx, bson.D{}); return err })
		}, []string{"insert", "commitTransaction", "commitTransaction", "commitTransaction", "commitTransaction"}, true,
	},
	{
		"WithTransaction, abort", []any{overloadtest.Failure(1)},
		func(ctx context.Context, c *Collection) error {
			return runTransaction(ctx, c, func(ctx context.Context) error { _, err := c.InsertOne(ctx, bson.D{}); return err })
		}, []string{"insert", "abortTransaction", "abortTransaction", "abortTransaction", "abortTransaction"}, true,
	},
	{
		"Client.Disconnect", []any{overloadtest.OK()},
		func(ctx context.Context, c *Collection) error {
			if err := c.client.Ping(ctx, nil); err != nil {
				return err
			}
			return c.client.Disconnect(ctx)
		}, []string{"ping", "endSessions"}, false,
	},
}

func runTransaction(ctx context.Context, coll *Collection, fn func(context.Context) error) error {
	session, err := coll.client.StartSession()
	if err != nil {
		return err
	}
	_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) { return nil, fn(ctx) })
	return err
}

// TestCleanUpEndsWithTheDeadline is about commands that the driver does not let the caller's context cut off: the caller does
// not wait for their backoffs beyond the deadline, and there are none for commands whose result nobody looks at.
func TestCleanUpEndsWithTheDeadline(t *testing.T) {
	for _, tt := range cleanUps {
		tt := tt
		check := func(t *testing.T, ctx context.Context, opts *options.ClientOptions) {
			s := newImpatientScript(t, tt.replies...)
			err := tt.run(ctx, connectScript(t, s, opts).Database("db").Collection("coll"))
			s.Finish()

			assert.Equal(t, tt.fails, err != nil, "got %v", err)
			assert.Equal(t, tt.commands, commandNames(t, s))
			assert.LessOrEqual(t, s.Elapsed, patience)
			spent := float64(len(s.Slept))
			assert.InDelta(t, 1000-spent, s.Policy.Policy.Bucket.Tokens(), 1, "tokens are spent for retries alone")
		}
		t.Run(tt.name+"/deadline", func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			check(t, ctx, options.Client())
		})
		t.Run(tt.name+"/cancelled", func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			s := newImpatientScript(t, tt.replies...)
			s.OnSleep = cancel
			err := tt.run(ctx, connectScript(t, s).Database("db").Collection("coll"))
			s.Finish()

			assert.Equal(t, tt.fails, err != nil, "got %v", err)
			assert.LessOrEqual(t, len(s.Slept), 1, "no backoff follows the one that was cancelled")
			assert.InDelta(t, 1000-float64(len(s.Slept)), s.Policy.Policy.Bucket.Tokens(), 1, "nor is a token spent")
		})
		t.Run(tt.name+"/timeout", func(t *testing.T) {
			check(t, context.Background(), options.Client().SetTimeout(patience))
		})
	}
}
