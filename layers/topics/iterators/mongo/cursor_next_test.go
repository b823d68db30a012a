package mongo

import (
	"context"
	"io"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// movedDeadline is a context whose deadline a test moves.
type movedDeadline struct {
	context.Context
	deadline time.Time
}

func (c *movedDeadline) Deadline() (time.Time, bool) { return c.deadline, true }

func (c *movedDeadline) leave(d time.Duration) { c.deadline = time.Now().Add(d) }

// TestLessThanMaxAwaitTime is about a tailable cursor and calls with less time than MaxAwaitTime. One that has it from the beginning sends
// nothing, and the next goes on. One whose reply is lost when there is no more ends the cursor: the reply may have had documents.
func TestLessThanMaxAwaitTime(t *testing.T) {
	ctx := &movedDeadline{Context: context.Background()}
	s := scripted.New(t, scripted.OK(firstBatch(7)))
	s.Rest = func(bson.Raw) any {
		ctx.leave(time.Minute)
		return io.EOF
	}
	find := options.Find().SetCursorType(options.TailableAwait).SetMaxAwaitTime(time.Hour)
	cursor, err := connectScript(t, s).Database("db").Collection("coll").Find(context.Background(), bson.D{}, find)
	require.NoError(t, err)

	ctx.leave(time.Minute)
	require.False(t, cursor.Next(ctx))
	require.Error(t, cursor.Err())
	assert.Equal(t, int64(7), cursor.ID())
	assert.Len(t, s.Sent, 1)

	ctx.leave(2 * time.Hour)
	require.False(t, cursor.Next(ctx))
	assert.True(t, IsNetworkError(cursor.Err()), "%v", cursor.Err())
	assert.Equal(t, int64(0), cursor.ID())
	assert.Len(t, s.Sent, 2)
}
