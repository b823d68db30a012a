package mongo

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// TestBulkWriteHasOneTimeout is about the client's Timeout, which all commands of a call share, of whatever kinds.
func TestBulkWriteHasOneTimeout(t *testing.T) {
	var deadlines []time.Time
	monitor := &event.CommandMonitor{Started: func(ctx context.Context, _ *event.CommandStartedEvent) {
		deadline, ok := ctx.Deadline()
		assert.True(t, ok)
		deadlines = append(deadlines, deadline)
	}}
	s := scripted.New(t)
	s.Rest = scripted.OK()
	coll := connectScript(t, s, options.Client().SetMonitor(monitor).SetTimeout(time.Hour)).Database("db").Collection("coll")
	_, err := coll.BulkWrite(context.Background(), []WriteModel{
		NewInsertOneModel().SetDocument(anything), NewDeleteOneModel().SetFilter(anything), NewInsertOneModel().SetDocument(anything),
	})
	require.NoError(t, err)
	require.Len(t, deadlines, 3)
	assert.Equal(t, deadlines[0], deadlines[1])
	assert.Equal(t, deadlines[0], deadlines[2])
}

// TestClientBulkWriteResultsTimeOut is about a getMore of the results that times out: so does the call, which tells what was written.
func TestClientBulkWriteResultsTimeOut(t *testing.T) {
	for _, timeout := range []any{context.DeadlineExceeded, scripted.Failure(50)} {
		reply := scripted.OK(
			cursorOf(7, "firstBatch", nil), bson.E{Key: "nInserted", Value: int32(2)}, bson.E{Key: "nErrors", Value: int32(1)},
		)
		s := scripted.New(t, reply, timeout)
		s.Rest = scripted.OK() // killCursors
		res, err := connectScript(t, s).BulkWrite(context.Background(), inserts(2), options.ClientBulkWrite().SetOrdered(false))
		assert.True(t, IsTimeout(err), "got %v", err)
		assert.True(t, errors.Is(err, context.DeadlineExceeded), "got %v", err)
		var failed ClientBulkWriteException
		require.True(t, errors.As(err, &failed), "got %T", err)
		assert.Contains(t, failed.Error(), failed.WriteError.Message)
		assert.NotEmpty(t, failed.WriteError.Message)
		assert.Equal(t, int64(2), res.InsertedCount)
		assert.Equal(t, []int{0, 1}, BulkOutcome(err, 2).Unknown)
	}
}

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
