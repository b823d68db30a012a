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
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

func TestChangeStreamBackoffKeepsTheTimeout(t *testing.T) {
	s := scripted.New(t, scripted.Overloaded())
	s.Policy.FirstBackoff, s.Policy.Jitter = 10*time.Second, func() float64 { return 1 }
	_, err := connectScript(t, s, options.Client().SetTimeout(8*time.Second)).Watch(context.Background(), Pipeline{})
	assert.True(t, errorHasLabel(err, driver.ErrSystemOverloadedError), "got %v", err)
	assert.Empty(t, s.Slept)
}

// TestChangeStreamResumesWhereItBegan is about a stream that is interrupted before its first event: it continues where it was opened
// (change-streams.md, "Resume Process").
func TestChangeStreamResumesWhereItBegan(t *testing.T) {
	opened := bson.Timestamp{T: 5, I: 1}
	token := bson.D{{Key: "token", Value: int32(1)}}
	at := func(first bson.E) bson.D { return scripted.OK(first, bson.E{Key: "operationTime", Value: opened}) }
	empty := at(firstBatch(7))
	withToken := firstBatch(7)
	withToken.Value = append(withToken.Value.(bson.D), bson.E{Key: "postBatchResumeToken", Value: token})
	raw := func(v any) string {
		_, data, err := bson.MarshalValue(v)
		require.NoError(t, err)
		return string(data)
	}
	tests := []struct {
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
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			event := scripted.OK(nextBatch(7, bson.D{{Key: "_id", Value: token}}))
			const hostUnreachable = 6 // servers before 4.4 send no label
			interrupted := append(scripted.Failure(hostUnreachable, resumableErrorLabel),
				bson.E{Key: "operationTime", Value: bson.Timestamp{T: 9, I: 1}}) // to which the session has advanced since
			s := scripted.New(t, tt.first, interrupted, scripted.OK(), empty, event)
			s.Servers[0].WireVersion.Max = tt.wire
			stream, err := connectScript(t, s).Database("db").Watch(context.Background(), Pipeline{}, tt.opts)
			require.NoError(t, err)
			if tt.key == "resumeAfter" {
				assert.Equal(t, raw(token), string(stream.ResumeToken()), "before the first event")
			}
			require.True(t, stream.Next(context.Background()), "got %v", stream.Err())
			s.Finish()

			var stages []bson.Raw
			for _, sent := range s.Sent {
				if value, err := sent.Command.LookupErr("pipeline", "0", "$changeStream"); err == nil {
					stages = append(stages, value.Document())
				}
			}
			require.Len(t, stages, 2)
			for _, key := range []string{"startAtOperationTime", "resumeAfter", "startAfter"} {
				if key == tt.key {
					assert.Equal(t, raw(tt.resumed), string(stages[1].Lookup(key).Value), "%v", stages[1])
				} else {
					assert.Empty(t, stages[1].Lookup(key).Value, "%v", stages[1])
				}
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
		s := scripted.New(t, scripted.OK(firstBatch(7)))
		s.Rest = scripted.OK(nextBatch(7, bson.D{{Key: "_id", Value: bson.D{{Key: "token", Value: 1}}}}))
		db := connectScript(t, s, tt.client).Database("db")
		stream, err := db.Watch(context.Background(), Pipeline{}, options.ChangeStream().SetMaxAwaitTime(tt.max))
		require.NoError(t, err, tt.name)
		ctx, cancel := context.Background(), func() {}
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
	stream, err := connectScript(t, s, hour).Database("db").Watch(context.Background(), Pipeline{})
	require.NoError(t, err)
	require.True(t, stream.Next(context.Background()))
	assert.Nil(t, s.Field("maxTimeMS")[1], "getMore without MaxAwaitTime")
}

// TestChangeStreamResumeIsWithinTheTimeout is about the aggregate by which Next resumes: it has the deadline of Next, and its error is
// returned (client-side-operations-timeout.md, "Change Streams").
func TestChangeStreamResumeIsWithinTheTimeout(t *testing.T) {
	until := time.Now().Add(2 * time.Hour)
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	for i, aggregate := range []any{emptyOpen, scripted.Failure(2)} {
		d, coll := newDeadlines(t)
		d.Replies = []any{emptyOpen, scripted.Failure(1, resumableErrorLabel), scripted.OK(), aggregate}
		stream, err := coll.Watch(context.Background(), Pipeline{})
		require.NoError(t, err)
		d.seen, d.Rest = nil, oneEvent
		found := stream.Next(ctx)
		require.NotEmpty(t, d.seen)
		assert.Equal(t, i == 0, found, "%v", stream.Err())
		for _, deadline := range d.seen {
			assert.Equal(t, until, deadline)
		}
		var failed CommandError
		assert.Equal(t, !found, errors.As(stream.Err(), &failed) && failed.Code == 2, "%v", stream.Err())
		assert.Equal(t, []string{"aggregate", "getMore", "killCursors", "aggregate"}, commandNames(t, d.Script)[:4])
	}
}

// TestChangeStreamOfUnreadableReply is about a reply to an aggregate that tells of no cursor: neither Watch nor a resume hides that.
func TestChangeStreamOfUnreadableReply(t *testing.T) {
	client := connectScript(t, scripted.New(t, noCursorInIt, emptyOpen, resumable, scripted.OK(), noCursorInIt))
	_, err := client.Watch(context.Background(), Pipeline{})
	assert.ErrorContains(t, err, "cursor")
	stream, err := client.Watch(context.Background(), Pipeline{})
	require.NoError(t, err)
	require.False(t, stream.Next(context.Background()))
	assert.ErrorContains(t, stream.Err(), "cursor")
	assert.Equal(t, int64(0), stream.ID())
}

// TestTokenOfAnEmptyBatch is about a getMore without events, which tells where to resume (change-streams.md, "postBatchResumeToken").
func TestTokenOfAnEmptyBatch(t *testing.T) {
	later := bson.D{{Key: "token", Value: 2}}
	empty := nextBatch(7)
	empty.Value = append(empty.Value.(bson.D), bson.E{Key: "postBatchResumeToken", Value: later})
	s := scripted.New(t, emptyOpen, scripted.OK(empty), resumable, scripted.OK(), emptyOpen, oneEvent)
	stream := watchScript(t, s)
	stream.TryNext(context.Background()) // the first batch
	require.False(t, stream.TryNext(context.Background()))
	assert.Equal(t, int32(2), stream.ResumeToken().Lookup("token").Int32())
	require.True(t, stream.Next(context.Background()), "got %v", stream.Err())
	resumed := s.Sent[4].Command.Lookup("pipeline", "0", "$changeStream").Document()
	assert.Equal(t, int32(2), resumed.Lookup("resumeAfter", "token").Int32())
	s.Finish()
}

// TestTokenOfTheLastEvent is about a batch of two events, and the token for what comes after it (change-streams.md, "Updating the Cached
// Resume Token").
func TestTokenOfTheLastEvent(t *testing.T) {
	token := func(n int) bson.D { return bson.D{{Key: "token", Value: n}} }
	batch := nextBatch(7, bson.D{{Key: "_id", Value: token(1)}}, bson.D{{Key: "_id", Value: token(2)}})
	batch.Value = append(batch.Value.(bson.D), bson.E{Key: "postBatchResumeToken", Value: token(3)})
	stream := watchScript(t, scripted.New(t, emptyOpen, scripted.OK(batch)))
	for _, want := range []int32{1, 3} {
		require.True(t, stream.Next(context.Background()), "got %v", stream.Err())
		assert.Equal(t, want, stream.ResumeToken().Lookup("token").Int32())
	}
}

// TestResumeIsRetriedOnce is about the aggregate by which a call resumes a stream: the call does so again by itself, so that a Timeout is no
// reason for many retries at once.
func TestResumeIsRetriedOnce(t *testing.T) {
	if disconnecting == nil {
		t.Skip("only the end of the client ends the pause")
	}
	s := scripted.New(t, emptyOpen, resumable, scripted.OK(), scripted.ShuttingDown(), scripted.ShuttingDown())
	s.Rest = scripted.Failure(13)
	stream, err := connectScript(t, s, options.Client().SetTimeout(time.Hour)).Watch(context.Background(), Pipeline{})
	require.NoError(t, err)
	s.OnSleep = func() { disconnecting(s) }
	require.False(t, stream.Next(context.Background()))
	assert.Equal(t, []string{"aggregate", "getMore", "killCursors", "aggregate", "aggregate"}, commandNames(t, s))
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
