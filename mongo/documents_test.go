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

// TestRunCommandSendsWhatItIsGiven is about a command with a maxTimeMS of its own, under a timeout: the driver does not look for it
// (client-side-operations-timeout.md, "runCommand").
func TestRunCommandSendsWhatItIsGiven(t *testing.T) {
	s := scripted.New(t, scripted.OK())
	db := connectScript(t, s, options.Client().SetTimeout(time.Hour)).Database("db")
	command := bson.D{{Key: "ping", Value: 1}, {Key: "maxTimeMS", Value: int32(7)}}
	require.NoError(t, db.RunCommand(context.Background(), command).Err())
	elements, err := s.Sent[0].Command.Elements()
	require.NoError(t, err)
	assert.Equal(t, "maxTimeMS", elements[1].Key())
	assert.Equal(t, int32(7), elements[1].Value().Int32())
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
