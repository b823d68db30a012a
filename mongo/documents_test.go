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

// TestGetMoreIsNotRetried is about an error after which every other read is retried: the cursor may have advanced
// (retryable-reads.md, "Unsupported Read Operations").
func TestGetMoreIsNotRetried(t *testing.T) {
	s := scripted.New(t, emptyOpen, scripted.ShuttingDown(), scripted.OK())
	cursor, err := connectScript(t, s).Database("db").Collection("coll").Find(context.Background(), bson.D{})
	require.NoError(t, err)
	assert.False(t, cursor.Next(context.Background()))
	assert.NotNil(t, cursor.Err())
	require.NoError(t, cursor.Close(context.Background()))
	s.Finish()
	assert.Equal(t, []string{"find", "getMore", "killCursors"}, commandNames(t, s))
}

// TestNoNegativeTimeout is about an option that would end every operation (client-side-operations-timeout.md, "timeoutMS").
func TestNoNegativeTimeout(t *testing.T) {
	_, err := Connect(options.Client().SetTimeout(-time.Second))
	assert.NotNil(t, err)
}

// TestNextReturnsDocumentsAtHand is about a cursor whose caller's time is up: what it has already got is not lost, only what it would have
// to ask for is a timeout (client-side-operations-timeout.md, "Non-tailable Cursors").
func TestNextReturnsDocumentsAtHand(t *testing.T) {
	s := scripted.New(t, scripted.OK(firstBatch(7, bson.D{}, bson.D{})))
	cursor, err := connectScript(t, s).Database("db").Collection("coll").Find(context.Background(), bson.D{})
	require.NoError(t, err)
	ctx, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancel()
	assert.True(t, cursor.Next(ctx), "got %v", cursor.Err())
	assert.True(t, cursor.Next(ctx), "got %v", cursor.Err())
	assert.False(t, cursor.Next(ctx))
	assert.True(t, IsTimeout(cursor.Err()), "got %v", cursor.Err())
}
