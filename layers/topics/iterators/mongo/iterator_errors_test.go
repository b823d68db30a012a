package mongo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/session"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
)

// What follows the errors of iterators.

var (
	resumable    = scripted.Failure(1, resumableErrorLabel)
	noCursorInIt = scripted.OK()
)

func watchScript(t *testing.T, s *scripted.Script, opts ...options.Lister[options.ChangeStreamOptions]) *ChangeStream {
	t.Helper()
	return must(connectScript(t, s).Database("db").Watch(bgCtx, Pipeline{}, opts...))(t)
}

// iterator is a Cursor or a ChangeStream.
type iterator interface {
	Next(context.Context) bool
	TryNext(context.Context) bool
	Err() error
	ID() int64
	Close(context.Context) error
}

func openIterator(t *testing.T, s *scripted.Script, which string, opts ...*options.ClientOptions) iterator {
	t.Helper()
	coll := scriptColl(t, s, opts...)
	if which == "stream" {
		return must(coll.Watch(bgCtx, Pipeline{}))(t)
	}
	return must(coll.Find(bgCtx, anything))(t)
}

// TestMayResumeAfter is about the errors of a resume: after some of them, the loop of an application would go on for ever.
func TestMayResumeAfter(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{context.DeadlineExceeded, true},
		{context.Canceled, true},
		{driver.Error{Code: 50, Message: "slow"}, true},
		{driver.Error{Code: 91, Message: "shutting down"}, true},
		{driver.Error{Code: 462, Labels: []string{driver.ErrSystemOverloadedError}}, true},
		{driver.Error{Labels: []string{driver.NetworkError}, Wrapped: io.EOF}, true},
		{topology.ServerSelectionError{Wrapped: errors.New("none in time")}, true},
		{topology.ConnectionError{Wrapped: io.EOF}, true},
		{driver.Error{Code: 18, Message: "wrong password"}, false},
		{session.ErrSessionEnded, false},
		{errors.New("malformed reply"), false},
		{MarshalError{Err: errors.New("type")}, false},
		{ErrClientDisconnected, false},
	} {
		cs := &ChangeStream{err: wrapErrors(tt.err)}
		assert.Equal(t, tt.want, cs.afterResume(cs.err) == streamLost, "%T %v", tt.err, tt.err)
		assert.Equal(t, tt.want, cs.afterResume(tt.err) == streamLost, "%T %v, as the driver's package has it", tt.err, tt.err)
	}
}

// TestUnreadableReplies is about getMores whose replies cannot be read: the stream is resumed, but not again at once.
func TestUnreadableReplies(t *testing.T) {
	again := []any{noCursorInIt, scripted.OK(), emptyOpen} // getMore, killCursors, aggregate
	s := scripted.New(t, append(append([]any{emptyOpen}, again...), noCursorInIt)...)
	stream := watchScript(t, s)
	require.False(t, stream.Next(bgCtx), "in a row")
	assert.ErrorContains(t, stream.Err(), "cursor.id")
	assert.Equal(t, int64(7), stream.ID())
	s.Finish()

	replies := append(append([]any{emptyOpen}, again...), withoutAnEvent)
	s = scripted.New(t, append(append(replies, again...), oneEvent)...)
	stream = watchScript(t, s)
	require.True(t, stream.Next(bgCtx), "with others between: got %v", stream.Err())
	s.Finish()
}

// TestLeftCursors is about a cursor that could not be closed when the stream was resumed: that is tried again before the next resume.
func TestLeftCursors(t *testing.T) {
	s := scripted.New(t, emptyOpen, resumable, scripted.Overloaded(), emptyOpen, resumable, scripted.OK(), scripted.OK(), emptyOpen, oneEvent,
		resumable, scripted.Overloaded(), emptyOpen, oneEvent, scripted.OK(), scripted.OK())
	stream := watchScript(t, s)
	require.True(t, stream.Next(bgCtx), "got %v", stream.Err())
	assert.Empty(t, stream.left)
	require.True(t, stream.Next(bgCtx), "got %v", stream.Err())
	assert.Len(t, stream.left, 1)
	require.NoError(t, stream.Close(bgCtx))
	assert.Empty(t, stream.left)
	assert.Equal(t, ErrNilCursor, stream.Decode(&bson.D{}))
	s.Finish()
}

// TestTimeToCloseCursors: a resume leaves a cursor in half of its time, or two seconds, and a Close in two seconds after it was cancelled.
func TestTimeToCloseCursors(t *testing.T) {
	for left, want := range map[time.Duration]time.Duration{3 * time.Second: 3 * time.Second / 2, 11 * time.Second / 2: 2 * time.Second} {
		var end, killed time.Time
		monitor := &event.CommandMonitor{Started: func(ctx context.Context, e *event.CommandStartedEvent) {
			if e.CommandName == "killCursors" {
				end, _ = ctx.Deadline()
			}
		}}
		s := lasting(t, oneEvent, emptyOpen, resumable, scripted.Overloaded(), emptyOpen)
		stream := must(connectScript(t, s, options.Client().SetMonitor(monitor)).Watch(bgCtx, Pipeline{}))(t)
		ctx, began := scripted.NewContext(), time.Now()
		ctx.Until = began.Add(left)
		require.True(t, stream.Next(ctx), "got %v", stream.Err())
		assert.True(t, !end.Before(began.Add(want)) && !end.After(time.Now().Add(want)), "%v: %v", left, end.Sub(began))

		s.OnConnection = func() { ctx.End(context.Canceled); s.OnConnection, killed = nil, time.Now() }
		require.NoError(t, stream.Close(ctx))
		assert.False(t, end.Before(killed.Add(2*time.Second)), "%v", end.Sub(killed))
	}
}

// TestCursorsThatStayOpen is about a stream none of whose cursors can be closed: each resume sends one killCursors, and Close all of them.
func TestCursorsThatStayOpen(t *testing.T) {
	const resumes, left = 151, 100
	opened := int64(0)
	s := lasting(t, func(command bson.Raw) any {
		switch command.Index(0).Key() {
		case "aggregate":
			opened++
			return scripted.OK(firstBatch(opened))
		case "killCursors":
			return scripted.Overloaded()
		}
		return scripted.Failure(1, resumableErrorLabel)
	})
	stream := watchScript(t, s)
	ctx, cancel := context.WithCancel(bgCtx)
	s.OnSleep = func() {
		if opened == resumes {
			cancel()
		}
	}
	require.False(t, stream.Next(ctx))
	killed := func() int { return strings.Count(fmt.Sprint(commandNames(s)), "killCursors") }
	assert.Equal(t, resumes, killed())
	assert.Len(t, stream.left, left)

	s.Sent, s.OnSleep = nil, nil
	s.Rest = scripted.OK()
	require.NoError(t, stream.Close(bgCtx))
	assert.Equal(t, left, killed())
	assert.Empty(t, stream.left)
}

// TestTimeoutOfRead is about the deadline of a connection, which can come before the context knows that its own has come.
func TestTimeoutOfRead(t *testing.T) {
	for _, err := range []error{
		CommandError{Message: "read", Labels: []string{networkErrorLabel}, Wrapped: context.DeadlineExceeded}, context.DeadlineExceeded,
	} {
		cs := &ChangeStream{cursor: struct{ changeStreamCursor }{}, err: err}
		assert.False(t, cs.resumesAtOnce(bgCtx))
		assert.Equal(t, streamLost, cs.state)
		assert.ErrorContains(t, cs.err, "no event came in time")
		assert.True(t, IsTimeout(cs.err))
	}
}

// TestStartAfterUntilAnEvent is about a stream that is resumed after its first event.
func TestStartAfterUntilAnEvent(t *testing.T) {
	s := scripted.New(t, emptyOpen, oneEvent, resumable, scripted.OK(), emptyOpen, oneEvent)
	stream := watchScript(t, s, options.ChangeStream().SetStartAfter(bson.D{{Key: "token", Value: 0}}))
	require.True(t, stream.Next(bgCtx))
	require.True(t, stream.Next(bgCtx), "got %v", stream.Err())
	assert.NotNil(t, s.Field("pipeline", "0", "$changeStream", "resumeAfter")[4])
	assert.Nil(t, s.Field("pipeline", "0", "$changeStream", "startAfter")[4])
}

// TestIteratorsGoOn is about the error of a getMore, which ends an iterator or does not: ID tells, and the next call sends the same getMore
// again, or resumes a stream, or nothing.
func TestIteratorsGoOn(t *testing.T) {
	cleared := scripted.NoConnection{Err: poolNotReady(t)}
	for name, tt := range map[string]struct {
		failure        any // of a getMore, after which there is a document
		cursor, stream string
	}{
		"rejected":     {scripted.Rejected(), "getMore", "getMore"},
		"pool cleared": {cleared, "getMore", "killCursors aggregate getMore"},
		"cancelled":    {scripted.NoConnection{Err: context.Canceled}, "getMore", "getMore"},
		"too late":     {scripted.NoConnection{Err: driver.ErrDeadlineWouldBeExceeded}, "getMore", "killCursors aggregate getMore"},
		"fatal":        {scripted.Failure(13), "", ""},
		"interrupted":  {scripted.Failure(473, driver.ErrSystemOverloadedError), "", ""},
		"lost":         {io.EOF, "", "killCursors aggregate getMore"},
		"unreadable":   {noCursorInIt, "", "killCursors aggregate getMore"},
		"without time": {context.DeadlineExceeded, "", "killCursors aggregate getMore"},
	} {
		for which, want := range map[string]string{"cursor": tt.cursor, "stream": tt.stream} {
			s := scripted.New(t, emptyOpen, tt.failure)
			s.Policy.MaxRetries, s.Policy.RetryReads = 0, false
			it := openIterator(t, s, which, options.Client().SetRetryReads(false))
			require.False(t, it.TryNext(bgCtx), name) // the first batch
			require.NoError(t, it.Err(), name)
			sent := len(s.Sent)
			s.Rest = func(body bson.Raw) any {
				switch body.Index(0).Key() {
				case "getMore":
					return oneEvent
				case "aggregate":
					return emptyOpen
				}
				return scripted.OK()
			}
			short, cancel := context.WithTimeout(bgCtx, time.Hour)
			defer cancel()
			if name == "cancelled" {
				s.OnConnection = cancel
			}
			long, ctx, found := 2*time.Hour, short, false
			for tries := 0; tries < 3 && !found && (it.Err() == nil || it.ID() != 0); tries++ {
				found, ctx = it.TryNext(ctx), bgCtx
				if !found && it.Err() != nil && want == "" {
					assert.Equal(t, int64(0), it.ID(), "%s: %s: %v", which, name, it.Err())
				}
				if stream, ok := it.(*ChangeStream); ok && !found { // nothing changes that, nor does a call with less than MaxAwaitTime
					stream.cursorOptions.MaxAwaitTime = &long
					assert.False(t, stream.Next(short), name)
				}
			}
			assert.Equal(t, want != "", found, "%s: %s: %v", which, name, it.Err())
			assert.Equal(t, want != "", it.Err() == nil, "%s: %s: %v", which, name, it.Err())
			names := commandNames(s)[sent:]
			if _, unsent := tt.failure.(scripted.NoConnection); !unsent {
				names = names[1:] // the getMore that failed
			}
			assert.Equal(t, want, strings.Join(names, " "), "%s: %s", which, name)
		}
	}
}

// TestAllAfterLostReply is about All of a cursor one of whose batches is lost: the next one would not follow what was read.
func TestAllAfterLostReply(t *testing.T) {
	s := scripted.New(t, scripted.OK(firstBatch(7)), io.EOF, scripted.OK())
	cursor := must(scriptColl(t, s).Find(bgCtx, bson.D{}))(t)
	require.False(t, cursor.Next(bgCtx))
	lost := cursor.Err()
	require.Error(t, lost)
	var docs []bson.D
	assert.Equal(t, lost, cursor.All(bgCtx, &docs))
	assert.Equal(t, []string{"find", "getMore", "killCursors"}, commandNames(s))
	s.Finish()

	s = scripted.New(t, scripted.OK(firstBatch(7, bson.D{})), io.EOF, scripted.Overloaded(), scripted.Overloaded(), scripted.OK())
	cursor = must(scriptColl(t, s).Find(bgCtx, bson.D{}))(t)
	require.Error(t, cursor.All(bgCtx, &docs))
	require.NoError(t, cursor.Close(bgCtx), "whose killCursors is retried, unlike that of All")
	s.Finish()

	cursor = must(NewCursorFromDocuments([]any{bson.D{}}, nil, nil))(t)
	assert.Error(t, cursor.All(bgCtx, docs), "no pointer, of a cursor without a server")
	assert.True(t, cursor.Close(bgCtx) == nil && cursor.All(bgCtx, &docs) == nil && len(docs) == 0, "it is closed: %v", docs)

	cursor = must(NewCursorFromDocuments([]any{bson.D{}}, lost, nil))(t)
	for i := 0; i < 2; i++ {
		assert.Equal(t, lost, cursor.All(bgCtx, &docs), "of a cursor that was made with an error")
	}
}

// TestClosedIteratorHasNoID is about a Close whose killCursors was rejected.
func TestClosedIteratorHasNoID(t *testing.T) {
	for _, which := range []string{"cursor", "stream"} {
		s := lasting(t, scripted.Overloaded(), emptyOpen)
		it := openIterator(t, s, which)
		require.False(t, it.Next(bgCtx), which)
		require.NotEqual(t, int64(0), it.ID(), which)
		require.Error(t, it.Close(bgCtx), which)
		assert.Equal(t, int64(0), it.ID(), which)
		sent := len(s.Sent)
		assert.False(t, it.Next(bgCtx) || it.TryNext(bgCtx), "%s: it is closed", which)
		assert.Len(t, s.Sent, sent, which)
	}
}

// poolNotReady returns the error of a pool whose server cannot be reached.
func poolNotReady(t *testing.T) error {
	t.Helper()
	dialer := topology.DialerFunc(func(context.Context, string, string) (net.Conn, error) { return nil, io.EOF })
	server := topology.NewServer("a:27017", bson.NewObjectID(), time.Second,
		topology.WithConnectionOptions(func(...topology.ConnectionOption) []topology.ConnectionOption {
			return []topology.ConnectionOption{topology.WithDialer(func(topology.Dialer) topology.Dialer { return dialer })}
		}))
	require.NoError(t, server.Connect(nil))
	defer func() { _ = server.Disconnect(bgCtx) }()
	_, err := server.Connection(bgCtx)
	require.Error(t, err)
	return err
}

// TestCursorCleanUpEndsWithTheDeadline is about cursors, some of which the driver opens itself: the deadline of the call that opened the
// cursor is the one of its end.
func TestCursorCleanUpEndsWithTheDeadline(t *testing.T) {
	cleanUpsEndWithTheDeadline(t, []cleanUp{
		{name: "ChangeStream.Next, resume", replies: []any{emptyOpen, resumable}, run: calling("ChangeStream.Next"),
			commands: "aggregate getMore killCursors aggregate aggregate aggregate aggregate"},
		{name: "ChangeStream.Next, no resume token", replies: []any{opened}, run: calling("ChangeStream.Next"),
			commands: "aggregate killCursors"},
		{name: "Cursor.All, decoding fails", replies: []any{scripted.OK(firstBatch(7, bson.D{{Key: "x", Value: "text"}}))},
			run: calling("Cursor.All", &[]struct{ X int }{}), commands: "find killCursors"},
		{name: "Cursor.All, getMore fails", replies: []any{opened}, run: calling("Cursor.All", &[]bson.D{}),
			commands: "find getMore getMore getMore getMore killCursors"},
		{name: "Cursor.Close", replies: []any{emptyOpen}, run: calling("Cursor.Close"),
			commands: "find killCursors killCursors killCursors killCursors"},
		{name: "ListCollectionNames", replies: []any{scripted.OK(firstBatch(7, bson.D{{Key: "name", Value: 1}}))},
			run: calling("Database.ListCollectionNames", anything), commands: "listCollections killCursors"},
		{name: "ListCollectionNames, getMore fails", replies: []any{scripted.OK(firstBatch(7, bson.D{{Key: "name", Value: "a"}}))},
			run: calling("Database.ListCollectionNames", anything), commands: "listCollections getMore getMore getMore getMore killCursors"},
		{name: "ChangeStream.Close", replies: []any{emptyOpen}, run: calling("ChangeStream.Close"),
			commands: "aggregate killCursors killCursors killCursors killCursors"},
	}...)
}

// TestCloseAgain is about a Close whose killCursors no server has answered: another Close sends it again, and then none does.
func TestCloseAgain(t *testing.T) {
	for _, which := range []string{"cursor", "stream"} {
		none := scripted.NoConnection{Err: errNoServer}
		s := scripted.New(t, emptyOpen, none, none, scripted.OK())
		it := openIterator(t, s, which)
		for i := 0; i < 2; i++ {
			assert.ErrorIs(t, it.Close(bgCtx), errNoServer, which)
		}
		for i := 0; i < 2; i++ {
			assert.NoError(t, it.Close(bgCtx), which)
		}
		assert.Equal(t, "killCursors", commandNames(s)[1], which)
		s.Finish()
	}
}

// TestCloseAfterTheEnd is about a cursor that is closed when its context has ended, and whose killCursors fails.
func TestCloseAfterTheEnd(t *testing.T) {
	replies := []any{emptyOpen, scripted.Failure(13)}
	for _, s := range []*scripted.Script{scripted.New(t, replies...), newLoadBalancedScript(t, replies...)} {
		cursor := must(scriptColl(t, s).Find(bgCtx, anything))(t)
		ctx, cancel := context.WithCancel(bgCtx)
		cancel()
		err := cursor.Close(ctx)
		assert.True(t, errors.Is(err, context.Canceled), "got %v", err)
		assert.Equal(t, int32(13), scripted.As[CommandError](t, err).Code)
		assert.ErrorContains(t, err, "closing the cursor after the end of its context")
		s.Finish()
	}
}

// TestCloseIsCancelled, before its killCursors is sent, which it is nevertheless, or later: it is not sent again.
func TestCloseIsCancelled(t *testing.T) {
	for i, reply := range []any{scripted.OK(), io.EOF} {
		ctx, cancel := context.WithCancel(bgCtx)
		s := lasting(t, func(bson.Raw) any { cancel(); return reply }, emptyOpen)
		cursor := must(scriptColl(t, s).Find(bgCtx, anything))(t)
		if i == 0 {
			s.OnConnection = cancel
		}
		assert.Equal(t, i == 0, cursor.Close(ctx) == nil)
		assert.Equal(t, []string{"find", "killCursors"}, commandNames(s))
	}
}

// TestEndOfCleanUp is about what is closed after something else: together they take two seconds after the end of the context.
func TestEndOfCleanUp(t *testing.T) {
	now := time.Now()
	canceled, cancel := context.WithCancel(bgCtx)
	cancel()
	until := func(seconds time.Duration) context.Context {
		ctx, cancel := context.WithDeadline(bgCtx, now.Add(seconds*time.Second))
		t.Cleanup(cancel)
		return ctx
	}
	both, cancelBoth := context.WithCancel(until(60))
	cancelBoth()
	for name, tt := range map[string]struct {
		ctx         context.Context
		began, want time.Duration // in seconds from now
	}{
		"it lasts":                  {ctx: until(60), began: -1, want: 62},
		"cancelled":                 {ctx: canceled, began: -1, want: 1},
		"cancelled before its time": {ctx: both, began: -1, want: 1},
		"its time was up meanwhile": {ctx: until(-1), began: -10, want: 1},
		"its time was up before":    {ctx: until(-10), began: -1, want: 1},
	} {
		end := endOfCleanUp(tt.ctx, now.Add(tt.began*time.Second))
		assert.Equal(t, now.Add(tt.want*time.Second), end, name)
	}
}

// TestSessionOfAKillCursors is about a cursor of a session: its killCursors has that, unless the session has ended, too.
func TestSessionOfAKillCursors(t *testing.T) {
	for _, ended := range []bool{false, true} {
		s := scripted.New(t, emptyOpen, scripted.OK())
		client := connectScript(t, s)
		session := must(client.StartSession())(t)
		ctx := NewSessionContext(bgCtx, session)
		cursor := must(client.Database("db").Collection("coll").Find(ctx, anything))(t)
		if ended {
			session.EndSession(ctx)
		}
		require.NoError(t, cursor.Close(bgCtx))
		ids := s.Field("lsid")
		assert.Equal(t, !ended, fmt.Sprint(ids[0]) == fmt.Sprint(ids[1]), "%v", ids)
	}
}

// TestLoadBalancedCursorIsGivenUp is about a getMore that is rejected to the end, and replies that are lost, also to the killCursors.
func TestLoadBalancedCursorIsGivenUp(t *testing.T) {
	rejected := scripted.Repeat(6, scripted.Overloaded())
	for _, more := range [][]any{append(rejected, scripted.OK()), append(rejected, io.EOF), {io.EOF}} {
		s := newLoadBalancedScript(t, append([]any{scripted.OK(firstBatch(7, bson.D{}))}, more...)...)
		cursor := must(scriptColl(t, s).Find(bgCtx, bson.D{}))(t)
		require.Error(t, cursor.All(bgCtx, &[]bson.D{}))
		assert.Equal(t, map[bool]int{true: 1}[more[0] == io.EOF], s.Expired)
		assert.Equal(t, int64(0), cursor.ID())
		assert.NoError(t, cursor.Close(bgCtx))
		assert.Len(t, s.Sent, len(more)+1, "a cursor without its connection cannot be closed")
		for _, number := range connections(s) {
			assert.Equal(t, 1, number)
		}
	}
}

// TestCursorOfAFailedCommand is about an aggregate that misses its write concern: nobody gets its cursor, so it is closed.
func TestCursorOfAFailedCommand(t *testing.T) {
	s := scripted.New(t, scripted.OK(firstBatch(7), concernError(64)), scripted.OK())
	assert.Error(t, second(scriptColl(t, s).Aggregate(bgCtx, Pipeline{{{Key: "$out", Value: "a"}}})))
	assert.Equal(t, []string{"aggregate", "killCursors"}, commandNames(s))
}

// TestListCollectionNamesAsksForNames: servers need no right to read collections for that. What the application passes stays as it is.
func TestListCollectionNamesAsksForNames(t *testing.T) {
	s := scripted.New(t, scripted.OK(firstBatch(0)))
	opts := make([]options.Lister[options.ListCollectionsOptions], 2)
	opts[0] = options.ListCollections()
	names := must(connectScript(t, s).Database("db").ListCollectionNames(bgCtx, bson.D{}, opts[:1]...))(t)
	assert.Equal(t, []string{}, names)
	assert.Equal(t, []any{true}, s.Field("nameOnly"))
	assert.Nil(t, opts[1])
}

// TestLessThanMaxAwaitTime is about a tailable cursor and calls with less time than MaxAwaitTime. One that has it from the beginning sends
// nothing, and the next goes on. One whose reply is lost when there is no more ends the cursor: the reply may have had documents.
func TestLessThanMaxAwaitTime(t *testing.T) {
	ctx := scripted.NewContext()
	leave := func(d time.Duration) { ctx.Until = time.Now().Add(d) }
	s := scripted.New(t, scripted.OK(firstBatch(7)))
	s.Rest = func(bson.Raw) any {
		leave(time.Minute)
		return io.EOF
	}
	find := options.Find().SetCursorType(options.TailableAwait).SetMaxAwaitTime(time.Hour)
	cursor := must(scriptColl(t, s).Find(bgCtx, bson.D{}, find))(t)

	leave(time.Minute)
	require.False(t, cursor.Next(ctx))
	require.Error(t, cursor.Err())
	assert.Equal(t, int64(7), cursor.ID())
	assert.Len(t, s.Sent, 1)

	leave(2 * time.Hour)
	require.False(t, cursor.Next(ctx))
	assert.True(t, IsNetworkError(cursor.Err()), "%v", cursor.Err())
	assert.Equal(t, int64(0), cursor.ID())
	assert.Len(t, s.Sent, 2)
}
