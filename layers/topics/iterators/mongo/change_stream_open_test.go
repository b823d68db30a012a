package mongo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

func TestChangeStreamBackoffKeepsTheTimeout(t *testing.T) {
	s := scripted.New(t, scripted.Overloaded())
	s.Policy.FirstBackoff, s.Policy.Jitter = 10*time.Second, func() float64 { return 1 }
	_, err := connectScript(t, s, options.Client().SetTimeout(5*time.Second)).Watch(bgCtx, Pipeline{})
	assert.True(t, errorHasLabel(err, driver.ErrSystemOverloadedError), "got %v", err)
	assert.Empty(t, s.Slept)
}

// withResumeToken returns what a reply says of a cursor, with the token to resume after the batch.
func withResumeToken(cursor bson.E, token bson.D) bson.E {
	return bson.E{Key: cursor.Key, Value: append(cursor.Value.(bson.D), bson.E{Key: "postBatchResumeToken", Value: token})}
}

// TestChangeStreamResumesWhereItBegan is about a stream that is interrupted before its first event: it continues where it was opened
// (change-streams.md, "Resume Process").
func TestChangeStreamResumesWhereItBegan(t *testing.T) {
	opened := bson.Timestamp{T: 5, I: 1}
	token := bson.D{{Key: "token", Value: int32(1)}}
	at := func(first bson.E) bson.D { return scripted.OK(first, bson.E{Key: "operationTime", Value: opened}) }
	empty := at(firstBatch(7))
	withToken := withResumeToken(firstBatch(7), token)
	for _, tt := range []struct {
		name    string
		wire    int32
		opts    *options.ChangeStreamOptionsBuilder
		first   bson.D
		key     string
		resumed any
	}{
		{"at the time of opening", 21, options.ChangeStream(), empty, "startAtOperationTime", opened},
		{"servers from 4.0 on know the time", 7, options.ChangeStream(), empty, "startAtOperationTime", opened},
		{"servers before 4.0 know no time", 6, options.ChangeStream(), empty, "", nil},
		{"at the time that the application wants", 21, options.ChangeStream().SetStartAtOperationTime(&bson.Timestamp{T: 3}), empty,
			"startAtOperationTime", bson.Timestamp{T: 3}},
		{"after the application's token", 21, options.ChangeStream().SetResumeAfter(token), empty, "resumeAfter", token},
		{"after the token of an empty batch", 21, options.ChangeStream(), at(withToken), "resumeAfter", token},
		{"after that token, though the application wants a time", 21, options.ChangeStream().SetStartAtOperationTime(&bson.Timestamp{T: 3}),
			at(withToken), "resumeAfter", token},
		{"after an invalidated stream", 21, options.ChangeStream().SetStartAfter(token), empty, "startAfter", token},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const hostUnreachable = 6 // servers before 4.4 send no label
			interrupted := append(scripted.Failure(hostUnreachable, resumableErrorLabel),
				bson.E{Key: "operationTime", Value: bson.Timestamp{T: 9, I: 1}}) // to which the session has advanced since
			s := scripted.New(t, tt.first, interrupted, scripted.OK(), empty, oneEvent)
			s.Servers[0].WireVersion.Max = tt.wire
			stream := must(connectScript(t, s).Database("db").Watch(bgCtx, Pipeline{}, tt.opts))(t)
			if tt.key == "resumeAfter" {
				assert.Equal(t, int32(1), stream.ResumeToken().Lookup("token").Int32(), "before the first event")
			}
			require.True(t, stream.Next(bgCtx), "got %v", stream.Err())
			s.Finish()

			for _, key := range []string{"startAtOperationTime", "resumeAfter", "startAfter"} {
				want := map[string]any{tt.key: tt.resumed}[key]
				assert.Equal(t, want, s.Field("pipeline", "0", "$changeStream", key)[3], "after getMore and killCursors")
			}
		})
	}
}

// TestChangeStreamMaxAwaitTime is about a stream that may wait for events as long as Next has time, or longer: that is an error, whether
// the time is the context's or the client's Timeout (client-side-operations-timeout.md, "Change Streams").
func TestChangeStreamMaxAwaitTime(t *testing.T) {
	hour := options.Client().SetTimeout(time.Hour)
	for _, tt := range []struct {
		name      string
		client    *options.ClientOptions
		next, max time.Duration
		fails     bool
	}{
		{name: "shorter than the client's Timeout", client: hour, max: time.Minute},
		{name: "as long as the client's Timeout", client: hour, max: time.Hour, fails: true},
		{name: "longer than the client's Timeout", client: hour, max: 2 * time.Hour, fails: true},
		{name: "longer than that, shorter than the deadline", client: hour, next: 3 * time.Hour, max: 2 * time.Hour},
		{name: "longer than the deadline", client: options.Client(), next: time.Hour, max: 2 * time.Hour, fails: true},
		{name: "no limit", client: options.Client(), max: 2 * time.Hour},
	} {
		s := lasting(t, oneEvent, emptyOpen)
		db := connectScript(t, s, tt.client).Database("db")
		stream := must(db.Watch(bgCtx, Pipeline{}, options.ChangeStream().SetMaxAwaitTime(tt.max)))(t, tt.name)
		ctx, cancel := bgCtx, func() {}
		if tt.next > 0 {
			ctx, cancel = context.WithTimeout(ctx, tt.next)
		}
		assert.Equal(t, !tt.fails, stream.Next(ctx), "%s: %v", tt.name, stream.Err())
		assert.Equal(t, tt.fails, stream.Err() != nil, tt.name)
		cancel()
		if !tt.fails {
			assert.Equal(t, tt.max.Milliseconds(), s.Field("maxTimeMS")[1], "%s: getMore", tt.name)
		}
	}

	s := scripted.New(t, emptyOpen, oneEvent)
	stream := must(connectScript(t, s, hour).Database("db").Watch(bgCtx, Pipeline{}))(t)
	require.True(t, stream.Next(bgCtx))
	assert.Nil(t, s.Field("maxTimeMS")[1], "getMore without MaxAwaitTime")
}

// TestChangeStreamResumeIsWithinTheTimeout is about the aggregate by which Next resumes: it has the deadline of Next, and its error is
// returned (client-side-operations-timeout.md, "Change Streams").
func TestChangeStreamResumeIsWithinTheTimeout(t *testing.T) {
	until := time.Now().Add(2 * time.Hour)
	ctx, cancel := context.WithDeadline(bgCtx, until)
	defer cancel()
	for i, aggregate := range []any{emptyOpen, scripted.Failure(2)} {
		d, coll := newDeadlines(t)
		d.Replies = []any{emptyOpen, scripted.Failure(1, resumableErrorLabel), scripted.OK(), aggregate}
		stream := must(coll.Watch(bgCtx, Pipeline{}))(t)
		d.seen, d.Rest = nil, oneEvent
		found := stream.Next(ctx)
		require.NotEmpty(t, d.seen)
		assert.Equal(t, i == 0, found, "%v", stream.Err())
		for _, deadline := range d.seen {
			assert.Equal(t, until, deadline)
		}
		var failed CommandError
		assert.Equal(t, !found, errors.As(stream.Err(), &failed) && failed.Code == 2, "%v", stream.Err())
		assert.Equal(t, []string{"aggregate", "getMore", "killCursors", "aggregate"}, commandNames(d.Script)[:4])
	}
}

// TestChangeStreamOfUnreadableReply is about a reply to an aggregate that tells of no cursor: neither Watch nor a resume hides that.
func TestChangeStreamOfUnreadableReply(t *testing.T) {
	client := connectScript(t, scripted.New(t, noCursorInIt, emptyOpen, resumable, scripted.OK(), noCursorInIt))
	assert.ErrorContains(t, second(client.Watch(bgCtx, Pipeline{})), "cursor")
	stream := must(client.Watch(bgCtx, Pipeline{}))(t)
	require.False(t, stream.Next(bgCtx))
	assert.ErrorContains(t, stream.Err(), "cursor")
	assert.Equal(t, int64(0), stream.ID())
}

// TestTokenOfAnEmptyBatch is about a getMore without events, which tells where to resume (change-streams.md, "postBatchResumeToken").
func TestTokenOfAnEmptyBatch(t *testing.T) {
	empty := withResumeToken(nextBatch(7), bson.D{{Key: "token", Value: 2}})
	s := scripted.New(t, emptyOpen, scripted.OK(empty), resumable, scripted.OK(), emptyOpen, oneEvent)
	stream := watchScript(t, s)
	stream.TryNext(bgCtx) // the first batch
	require.False(t, stream.TryNext(bgCtx))
	assert.Equal(t, int32(2), stream.ResumeToken().Lookup("token").Int32())
	require.True(t, stream.Next(bgCtx), "got %v", stream.Err())
	assert.Equal(t, int32(2), s.Field("pipeline", "0", "$changeStream", "resumeAfter", "token")[4])
	s.Finish()
}

// TestTokenOfTheLastEvent is about two events, and the token after them (change-streams.md, "Updating the Cached Resume Token").
func TestTokenOfTheLastEvent(t *testing.T) {
	token := func(n int) bson.D { return bson.D{{Key: "token", Value: n}} }
	batch := nextBatch(7, bson.D{{Key: "_id", Value: token(1)}}, bson.D{{Key: "_id", Value: token(2)}})
	stream := watchScript(t, scripted.New(t, emptyOpen, scripted.OK(withResumeToken(batch, token(3)))))
	for _, want := range []int32{1, 3} {
		require.True(t, stream.Next(bgCtx), "got %v", stream.Err())
		assert.Equal(t, want, stream.ResumeToken().Lookup("token").Int32())
	}
}

// TestResumeIsRetriedOnce is about the aggregate by which a call resumes a stream: the call does so again by itself, so that a Timeout is no
// reason for many retries at once.
func TestResumeIsRetriedOnce(t *testing.T) {
	if disconnecting == nil {
		t.Skip("only the end of the client ends the pause")
	}
	s := lasting(t, scripted.Failure(13), emptyOpen, resumable, scripted.OK(), scripted.ShuttingDown(), scripted.ShuttingDown())
	stream := must(connectScript(t, s, options.Client().SetTimeout(time.Hour)).Watch(bgCtx, Pipeline{}))(t)
	s.OnSleep = func() { disconnecting(s) }
	require.False(t, stream.Next(bgCtx))
	assert.Equal(t, []string{"aggregate", "getMore", "killCursors", "aggregate", "aggregate"}, commandNames(s))
}

// TestResumeWithoutTime is about a call whose time is up when it resumes the stream.
func TestResumeWithoutTime(t *testing.T) {
	ctx := scripted.NewContext()
	s := scripted.New(t, emptyOpen, resumable, scripted.OK())
	stream := watchScript(t, s)
	s.OnSelect = func() error {
		if len(s.Replies) == 0 {
			ctx.End(context.DeadlineExceeded)
		}
		return ctx.Err()
	}
	require.False(t, stream.Next(ctx))
	assert.ErrorContains(t, stream.Err(), "no event came, although the change stream was resumed once: context deadline exceeded")
	assert.NotEqual(t, int64(0), stream.ID())
}

func init() { topics["iterators"] = true }

var (
	// interruptedByOverload is the reply to a getMore that an overloaded server ends: the stream can be resumed, the command must not
	// be sent again.
	interruptedByOverload = scripted.Failure(473, driver.ErrSystemOverloadedError, resumableErrorLabel)
	oneEvent              = scripted.OK(nextBatch(7, bson.D{{Key: "_id", Value: bson.D{{Key: "token", Value: 1}}}}))
	withoutAnEvent        = scripted.OK(nextBatch(7))
)

// reopening are the replies to a getMore that fails, and to the killCursors and the aggregate after it.
func reopening(failure any) []any { return []any{failure, scripted.OK(), emptyOpen} }

// TestChangeStreamPausesBeforeResume is about a stream that is interrupted: each further time it waits longer, until a getMore succeeds. Only
// an overloaded server gets a pause before the first resume.
func TestChangeStreamPausesBeforeResume(t *testing.T) {
	failures := map[rune]any{'o': interruptedByOverload, 'r': resumable, 'c': io.EOF, 't': scripted.Failure(50, resumableErrorLabel),
		'd': scripted.NoConnection{Err: context.DeadlineExceeded}} // a dial
	for in, slept := range map[string]string{
		"o": "[50ms]", "ooo": "[50ms 100ms 200ms]",
		"oo.o": "[50ms 100ms 50ms]", // a getMore without events between
		"oo!o": "[50ms 100ms 50ms]", // an event between
		"r":    "[]", "rrrr": "[100ms 200ms 400ms]", "rr.rr": "[100ms 100ms]", "rr!rr": "[100ms 100ms]",
		"ccc": "[100ms 200ms]", "rocdt": "[100ms 200ms 400ms 800ms]",
	} {
		replies := []any{emptyOpen}
		for _, letter := range in + "!" {
			switch letter {
			case '.':
				replies = append(replies, withoutAnEvent)
			case '!':
				replies = append(replies, oneEvent)
			default:
				replies = append(replies, reopening(failures[letter])...)
			}
		}
		for which, next := range map[string]func(*ChangeStream, context.Context) bool{
			"Next": (*ChangeStream).Next, "TryNext": (*ChangeStream).TryNext, // which returns after each command
		} {
			s := scripted.New(t, replies...)
			stream := watchScript(t, s)
			for len(s.Replies) > 0 {
				found := next(stream, bgCtx)
				require.True(t, found || which == "TryNext", "%s: %v", in, stream.Err())
				require.NoError(t, stream.Err(), "%s: %s", in, which)
			}
			assert.Equal(t, slept, fmt.Sprint(s.Slept), "%s: %s", in, which)
		}
	}
}

// TestChangeStreamPausesBetweenCalls is about resumes that fail, each of which ends a call: the next call waits, too.
func TestChangeStreamPausesBetweenCalls(t *testing.T) {
	const aggregates = 3 * 2 // with their retries
	replies := append([]any{emptyOpen, resumable, scripted.OK()}, scripted.Repeat(aggregates, scripted.Failure(91))...)
	s := scripted.New(t, append(replies, emptyOpen, oneEvent, scripted.Failure(13))...)
	stream := watchScript(t, s)
	for i := 0; i < 3; i++ {
		require.False(t, stream.Next(bgCtx))
		require.Equal(t, int32(91), scripted.As[CommandError](t, stream.Err()).Code)
		require.NotEqual(t, int64(0), stream.ID())
	}
	require.True(t, stream.Next(bgCtx), "got %v", stream.Err())
	assert.Equal(t, "[100ms 200ms 400ms]", fmt.Sprint(s.Slept))
	require.False(t, stream.Next(bgCtx))
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
		{resumable, 2, "no event came, although the change stream was resumed 2 times: "},
	} {
		for _, why := range []error{context.Canceled, context.DeadlineExceeded} {
			replies := []any{emptyOpen}
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
			require.True(t, stream.Next(bgCtx), "got %v", stream.Err())
			s.Finish()
		}
	}
}

// TestChangeStreamPauseEndsWithItsClient is about a client that is disconnected during a pause.
func TestChangeStreamPauseEndsWithItsClient(t *testing.T) {
	if disconnecting == nil {
		t.Skip("a client that is disconnected tells nobody")
	}
	s := scripted.New(t, emptyOpen, interruptedByOverload, scripted.OK())
	stream := watchScript(t, s)
	s.OnSleep = func() { disconnecting(s) }
	require.False(t, stream.Next(bgCtx))
	assert.True(t, errors.Is(stream.Err(), ErrClientDisconnected), "got %v", stream.Err())
	assert.True(t, errorHasLabel(stream.Err(), driver.ErrSystemOverloadedError), "got %v", stream.Err())
	assert.Equal(t, int64(0), stream.ID())
	s.Finish()
}

// TestInterruptionOfResumes is about a context that ends before the first resume, and one that ends during an aggregate after errors.
func TestInterruptionOfResumes(t *testing.T) {
	ctx, cancel := context.WithCancel(bgCtx)
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
	canceled, cancel := context.WithCancel(bgCtx)
	cancel()
	for _, waited := range []bool{true, false} {
		cs := &ChangeStream{err: context.DeadlineExceeded, resumes: streamResumes{count: 2, last: errNoServer}}
		assert.ErrorIs(t, cs.noTime(waited), errNoServer)
		assert.Equal(t, waited, cs.resumes.last == nil && cs.resumes.count == 0)
		cs = &ChangeStream{err: canceled.Err()}
		assert.Equal(t, canceled.Err(), cs.noTime(waited))
	}
	cs := &ChangeStream{cursor: struct{ changeStreamCursor }{}, err: canceled.Err()}
	assert.True(t, !cs.resumesAtOnce(canceled) && cs.state == streamLost, "its events may be, too")
	assert.ErrorContains(t, (&ChangeStream{err: context.DeadlineExceeded}).noTime(true), "no event came in time")
	assert.Equal(t, context.DeadlineExceeded, (&ChangeStream{err: context.DeadlineExceeded}).noTime(false))
}
