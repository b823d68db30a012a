package mongo

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

var _ = noted("iterators")

var (
	// interruptedByOverload is the reply to a getMore that an overloaded server ends: the stream can be resumed, the command must not
	// be sent again.
	interruptedByOverload = scripted.Failure(473, driver.ErrSystemOverloadedError, resumableErrorLabel)
	oneEvent              = scripted.OK(nextBatch(7, bson.D{{Key: "_id", Value: bson.D{{Key: "token", Value: 1}}}}))
	withoutAnEvent        = scripted.OK(nextBatch(7))
)

func inARow(replies ...any) []any { return replies }

// reopening are the replies to a getMore that fails, and to the killCursors and the aggregate after it.
func reopening(failure any) []any { return inARow(failure, scripted.OK(), emptyOpen) }

// TestChangeStreamPausesBeforeResume is about a stream that is interrupted: each further time it waits longer, until a getMore succeeds. Only
// an overloaded server gets a pause before the first resume.
func TestChangeStreamPausesBeforeResume(t *testing.T) {
	join := func(replies ...[]any) (joined []any) {
		for _, part := range replies {
			joined = append(joined, part...)
		}
		return joined
	}
	times := func(n int, failure any) (replies []any) {
		for i := 0; i < n; i++ {
			replies = append(replies, reopening(failure)...)
		}
		return replies
	}
	slept := func(milliseconds ...time.Duration) (pauses []time.Duration) {
		for _, n := range milliseconds {
			pauses = append(pauses, n*time.Millisecond)
		}
		return pauses
	}
	for _, tt := range []struct {
		name    string
		replies []any
		slept   []time.Duration
	}{
		{name: "overload", replies: times(1, interruptedByOverload), slept: slept(50)},
		{name: "overload three times", replies: times(3, interruptedByOverload), slept: slept(50, 100, 200)},
		{name: "a getMore without events between", slept: slept(50, 100, 50),
			replies: join(times(2, interruptedByOverload), inARow(withoutAnEvent), times(1, interruptedByOverload))},
		{name: "an event between", slept: slept(50, 100, 50),
			replies: join(times(2, interruptedByOverload), inARow(oneEvent), times(1, interruptedByOverload))},
		{name: "no overload", replies: times(1, resumable)},
		{name: "no overload, four times", replies: times(4, resumable), slept: slept(100, 200, 400)},
		{name: "no overload, a getMore between", slept: slept(100, 100),
			replies: join(times(2, resumable), inARow(withoutAnEvent), times(2, resumable))},
		{name: "no overload, an event between", slept: slept(100, 100),
			replies: join(times(2, resumable), inARow(oneEvent), times(2, resumable))},
		{name: "closed connections", replies: times(3, io.EOF), slept: slept(100, 200)},
		{name: "one after the other", replies: join(times(1, resumable), times(1, interruptedByOverload), times(1, io.EOF)),
			slept: slept(100, 200)},
	} {
		for which, next := range map[string]func(*ChangeStream, context.Context) bool{
			"Next": (*ChangeStream).Next, "TryNext": (*ChangeStream).TryNext, // which returns after each command
		} {
			s := scripted.New(t, join(inARow(emptyOpen), tt.replies, inARow(oneEvent))...)
			stream := watchScript(t, s)
			for len(s.Replies) > 0 {
				found := next(stream, context.Background())
				require.True(t, found || which == "TryNext", "%s: %v", tt.name, stream.Err())
				require.NoError(t, stream.Err(), "%s: %s", tt.name, which)
			}
			assert.Equal(t, tt.slept, s.Slept, "%s: %s", tt.name, which)
		}
	}
}

// TestChangeStreamPausesBetweenCalls is about resumes that fail, each of which ends a call: the next call waits, too.
func TestChangeStreamPausesBetweenCalls(t *testing.T) {
	fatal := scripted.Failure(13)
	down := inARow(scripted.Failure(91), scripted.Failure(91)) // the aggregate, and its retry
	replies := append(inARow(emptyOpen, resumable, scripted.OK()), append(append(append(down, down...), down...), emptyOpen, oneEvent, fatal)...)
	s := scripted.New(t, replies...)
	stream := watchScript(t, s)
	for i := 0; i < 3; i++ {
		require.False(t, stream.Next(context.Background()))
		var failed CommandError
		require.True(t, errors.As(stream.Err(), &failed) && failed.Code == 91, "got %v", stream.Err())
		require.NotEqual(t, int64(0), stream.ID())
	}
	require.True(t, stream.Next(context.Background()), "got %v", stream.Err())
	assert.Equal(t, []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond}, s.Slept)
	require.False(t, stream.Next(context.Background()))
	assert.Equal(t, int64(0), stream.ID(), "after %v", stream.Err())
	s.Finish()
}

// TestChangeStreamPauseEnds is about a call that ends during a pause: its error wraps that of the server, and says how often the stream was
// resumed. The next call resumes it.
func TestChangeStreamPauseEnds(t *testing.T) {
	for _, tt := range []struct {
		failure any
		resumes int
		says    string
	}{
		{interruptedByOverload, 0, "interrupted before the change stream was resumed: "},
		{interruptedByOverload, 1, "no event came, although the change stream was resumed once: "},
		{resumable, 1, "no event came, although the change stream was resumed once: "},
		{resumable, 3, "no event came, although the change stream was resumed 3 times: "},
	} {
		for _, why := range []error{context.Canceled, context.DeadlineExceeded} {
			replies := inARow(emptyOpen)
			for i := 0; i < tt.resumes; i++ {
				replies = append(replies, reopening(tt.failure)...)
			}
			s := scripted.New(t, append(replies, tt.failure, scripted.OK(), emptyOpen, oneEvent)...)
			stream := watchScript(t, s)
			ctx := scripted.NewContext()
			s.OnSleep = func() {
				if len(s.Replies) == 2 {
					ctx.End(why)
				}
			}
			require.False(t, stream.Next(ctx))
			err := stream.Err()
			assert.ErrorContains(t, err, tt.says+why.Error())
			assert.True(t, errors.Is(err, why), "got %v", err)
			assert.Equal(t, why == context.DeadlineExceeded, IsTimeout(err), "got %v", err)
			assert.True(t, errorHasLabel(err, resumableErrorLabel), "the server's error: %v", err)
			assert.NotEqual(t, int64(0), stream.ID())

			s.OnSleep = nil
			require.True(t, stream.Next(context.Background()), "got %v", stream.Err())
			s.Finish()
		}
	}
}

// TestChangeStreamPauseEndsWithItsClient is about a client that is disconnected during a pause.
func TestChangeStreamPauseEndsWithItsClient(t *testing.T) {
	if disconnecting == nil {
		t.Skip("a client that is disconnected tells nobody")
	}
	s := scripted.New(t, append(inARow(emptyOpen), inARow(interruptedByOverload, scripted.OK())...)...)
	stream := watchScript(t, s)
	s.OnSleep = func() { disconnecting(s) }
	require.False(t, stream.Next(context.Background()))
	assert.True(t, errors.Is(stream.Err(), ErrClientDisconnected), "got %v", stream.Err())
	assert.True(t, errorHasLabel(stream.Err(), driver.ErrSystemOverloadedError), "got %v", stream.Err())
	assert.Equal(t, int64(0), stream.ID())
	s.Finish()
}

// TestInterruptionOfResumes is about a context that ends before the first resume, and one that ends during an aggregate after errors.
func TestInterruptionOfResumes(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	cs := &ChangeStream{state: streamLost}
	assert.False(t, cs.resume(ctx))
	assert.True(t, errors.Is(cs.err, context.Canceled) && cs.state == streamLost, "got %v", cs.err)

	resumes := streamResumes{last: errors.New("no server")}
	err := resumes.interrupted(CommandError{Code: 462, Wrapped: context.Canceled})
	assert.True(t, errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded), "got %v", err)
}

// TestChangeStreamThatWaited is about a getMore that the server let wait until the call's end: the errors before it are over, so that the
// next call resumes the stream at once.
func TestChangeStreamThatWaited(t *testing.T) {
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, waited := range []bool{true, false} {
		cs := &ChangeStream{err: context.DeadlineExceeded, resumes: streamResumes{count: 2, last: errNoServer}}
		assert.ErrorIs(t, cs.noTime(waited), errNoServer)
		assert.Equal(t, waited, cs.resumes.last == nil && cs.resumes.count == 0)
		cs = &ChangeStream{err: canceled.Err()}
		assert.Equal(t, canceled.Err(), cs.noTime(waited))
	}
	assert.ErrorContains(t, (&ChangeStream{err: context.DeadlineExceeded}).noTime(true), "no event came in time")
	assert.Equal(t, context.DeadlineExceeded, (&ChangeStream{err: context.DeadlineExceeded}).noTime(false))
}
