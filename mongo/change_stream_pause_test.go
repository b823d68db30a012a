package mongo

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

var (
	// interruptedByOverload is the reply to a getMore that an overloaded server ends: the stream can be resumed, the command must not
	// be sent again.
	interruptedByOverload = scripted.Failure(473, driver.ErrSystemOverloadedError, resumableErrorLabel)
	oneEvent              = scripted.OK(nextBatch(7, bson.D{{Key: "_id", Value: bson.D{{Key: "token", Value: 1}}}}))
	withoutAnEvent        = scripted.OK(nextBatch(7))
	reopened              = []any{interruptedByOverload, scripted.OK(), emptyOpen} // getMore, killCursors, aggregate
)

// nextBatch is what the reply to a getMore says of its cursor.
func nextBatch(id int64, docs ...any) bson.E {
	return bson.E{Key: "cursor", Value: bson.D{
		{Key: "id", Value: id}, {Key: "ns", Value: "db.coll"}, {Key: "nextBatch", Value: append(bson.A{}, docs...)},
	}}
}

func inARow(replies ...any) []any { return replies }

// TestChangeStreamPausesBeforeResume is about a stream that an overloaded server interrupts: each further time it waits longer, until a
// getMore succeeds.
func TestChangeStreamPausesBeforeResume(t *testing.T) {
	again := func(n int) (replies []any) {
		for i := 0; i < n; i++ {
			replies = append(replies, reopened...)
		}
		return replies
	}
	after := func(first []any, more ...[]any) []any {
		for _, replies := range more {
			first = append(first, replies...)
		}
		return first
	}
	for _, tt := range []struct {
		name    string
		replies []any
		slept   []time.Duration
	}{
		{name: "once", replies: after(again(1), inARow(oneEvent)), slept: []time.Duration{50 * time.Millisecond}},
		{name: "three times", replies: after(again(3), inARow(oneEvent)),
			slept: []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond}},
		{name: "a getMore without events between", replies: after(again(2), inARow(withoutAnEvent), again(1), inARow(oneEvent)),
			slept: []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 50 * time.Millisecond}},
		{name: "an event between", replies: after(again(2), inARow(oneEvent), again(1), inARow(oneEvent)),
			slept: []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 50 * time.Millisecond}},
		{name: "no overload", replies: inARow(scripted.Failure(1, resumableErrorLabel), scripted.OK(), emptyOpen, oneEvent)},
	} {
		for which, next := range map[string]func(*ChangeStream, context.Context) bool{
			"Next": (*ChangeStream).Next, "TryNext": (*ChangeStream).TryNext, // which returns after each command
		} {
			s := scripted.New(t, append([]any{emptyOpen}, tt.replies...)...)
			stream, err := connectScript(t, s).Database("db").Watch(context.Background(), Pipeline{})
			require.NoError(t, err)
			for len(s.Replies) > 0 {
				found := next(stream, context.Background())
				require.True(t, found || which == "TryNext", "%s: %v", tt.name, stream.Err())
				require.NoError(t, stream.Err(), "%s: %s", tt.name, which)
			}
			assert.Equal(t, tt.slept, s.Slept, "%s: %s", tt.name, which)
		}
	}
}

// TestChangeStreamResumesAfterAPauseWithoutTime is about a Next whose time does not suffice for the pause: it returns the overload error,
// and the next one resumes.
func TestChangeStreamResumesAfterAPauseWithoutTime(t *testing.T) {
	s := scripted.New(t, append([]any{emptyOpen}, append(reopened, oneEvent)...)...)
	s.Policy.FirstBackoff, s.Policy.Jitter = 10*time.Second, func() float64 { return 1 }
	stream, err := connectScript(t, s).Database("db").Watch(context.Background(), Pipeline{})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
	defer cancel()
	require.False(t, stream.Next(ctx))
	require.True(t, errorHasLabel(stream.Err(), driver.ErrSystemOverloadedError), "%v", stream.Err())
	assert.NotEqual(t, int64(0), stream.ID())
	assert.Len(t, s.Sent, 3, "the stream is not resumed")

	require.True(t, stream.Next(context.Background()), "%v", stream.Err())
	s.Finish()
}

// TestChangeStreamPauseEnds is about a Next whose time does not suffice for the pause, and one that is cancelled meanwhile: it returns the
// overload error.
func TestChangeStreamPauseEnds(t *testing.T) {
	s := scripted.New(t, emptyOpen)
	s.Rest = interruptedByOverload
	s.Policy.FirstBackoff, s.Policy.Jitter = 10*time.Second, func() float64 { return 1 }
	stream, err := connectScript(t, s).Database("db").Watch(context.Background(), Pipeline{})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
	defer cancel()
	assert.False(t, stream.Next(ctx))
	assert.True(t, errorHasLabel(stream.Err(), driver.ErrSystemOverloadedError), "%v", stream.Err())
	assert.Empty(t, s.Slept)

	s = scripted.New(t, emptyOpen)
	s.Rest = interruptedByOverload
	stream, err = connectScript(t, s).Database("db").Watch(context.Background(), Pipeline{})
	require.NoError(t, err)
	ctx, cancel = context.WithCancel(context.Background())
	s.OnSleep = cancel
	assert.False(t, stream.Next(ctx))
	assert.True(t, errorHasLabel(stream.Err(), driver.ErrSystemOverloadedError), "%v", stream.Err())
	assert.True(t, errors.Is(stream.Err(), context.Canceled), "%v", stream.Err())
	assert.Len(t, s.Slept, 1)
}
