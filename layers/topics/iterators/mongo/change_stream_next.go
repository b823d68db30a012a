package mongo

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/csot"
	"go.mongodb.org/mongo-driver/v2/internal/mongoutil"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
)

// ChangeStream knows what the error of its last Next left of it, and counts what an overloaded server does to it.
//
//fork:extend an error after which events can follow ended the stream; a stream that is interrupted again and again was resumed at once
type ChangeStream struct {
	resumes streamResumes
	state   streamState
	id      int64                // of the last cursor, for method ID while the stream is lost
	left    []changeStreamCursor // those that could not be closed when the stream was resumed
}

// streamState is what the last Next has left of a stream. An error in state streamOpen or streamOpened has ended it.
type streamState uint8

const (
	// streamOpen: the cursor is asked for events.
	streamOpen streamState = iota
	// streamOpened: the cursor is, too, but its next batch is that of the aggregate.
	streamOpened
	// streamRepeats: the next call sends the same getMore again.
	streamRepeats
	// streamLost: events of the cursor may have been lost, so that the next call has to resume.
	streamLost
	// streamClosed: the application has closed it.
	streamClosed
)

// ID returns the ID of the stream's cursor. It is 0 once no event can follow those that the stream already has: it is closed, or an error
// has ended it.
//
//fork:replace whoever iterates has to know whether an error ended the stream
func (cs *ChangeStream) ID() int64 {
	switch {
	case cs.state == streamLost:
		return cs.id
	case cs.state == streamClosed || cs.cursor == nil || cs.err != nil && cs.state != streamRepeats:
		return 0
	default:
		return cs.cursor.ID()
	}
}

// Next waits for the next event, and makes it the current one. If it returns false, Err tells why: it is nil if the server has
// ended the stream, as it does after an invalidate event. Next waits until the deadline of ctx or, without one, as long as the client's
// Timeout; without either, as long as it takes.
//
// An error ends the stream only if nothing can follow, such as one of a server that cannot resume it. After a timeout, for which IsTimeout
// is true, a cancellation, a rejection by an overloaded server, or if no server was found in time, the next call goes on behind the last
// event: no event is left out, and none comes twice. ID is 0 if the stream has ended.
//
// If calls time out before the first event, the server may need longer than that to read its oplog: call Next again with more time, or
// close the stream and open another.
//
// If MaxAwaitTime is set and not less than the time that is left, Next fails and sends nothing.
//
//fork:replace a timeout must not end the stream (client-side-operations-timeout.md, "Change Streams")
func (cs *ChangeStream) Next(ctx context.Context) bool { return cs.next(ctx, false) }

// TryNext makes the next event the current one if there is one: unless it has to resume, it asks the server only once, but for retries.
// Errors are as those of Next. After an error that did not end the stream, or without one unless ID is 0, it can be called again.
//
//fork:replace a timeout must not end the stream (client-side-operations-timeout.md, "Change Streams")
func (cs *ChangeStream) TryNext(ctx context.Context) bool { return cs.next(ctx, true) }

// next makes the next event the current one.
//
//fork:wrap an error after which events can follow ended the stream
func (cs *ChangeStream) next(ctx context.Context, nonBlocking bool) bool {
	switch cs.state {
	case streamClosed:
		return false
	case streamLost:
		cs.err = nil
	case streamRepeats:
		cs.err, cs.state = nil, streamOpen
	}
	return cs.upstreamNext(ctx, nonBlocking)
}

var errAwaitsTooLong = errors.New("MaxAwaitTime must be less than the operation timeout: the server waits that long for events")

// loopNext gets the next events. It resumes the stream where that is necessary.
//
//fork:replace what resumed had no time left, and no error was followed by an event
func (cs *ChangeStream) loopNext(ctx context.Context, nonBlocking bool) {
	ctx, cancel := withTimeout(ctx, cs.client.timeout)
	defer cancel()
	if await := cs.cursorOptions.MaxAwaitTime; await != nil && !nonBlocking && !mongoutil.TimeoutWithinContext(ctx, *await) {
		if cs.err = errAwaitsTooLong; cs.state != streamLost { // which still has to resume; otherwise nothing has moved
			cs.state = streamRepeats
		}
		return
	}
	unreadable := 0
	for cs.cursor != nil { // nil after the stream has closed itself
		if cs.state == streamLost && !cs.resume(ctx) {
			if cs.resumesLater(ctx) {
				continue
			}
			return
		}
		if cs.cursor.Next(ctx) {
			cs.resumes = streamResumes{}
			cs.batch, cs.err = cs.cursor.Batch().Documents()
			return
		}
		switch cs.err = wrapErrors(cs.cursor.Err()); {
		case cs.err != nil:
			if unreadableReply(cs.cursor) {
				unreadable++
			}
			if !cs.resumesAtOnce(ctx) || unreadable > 1 { // in this order: it sets the state in any case
				return
			}
		case cs.cursor.ID() == 0: // the server has ended the stream
			return
		default: // an empty batch
			if cs.state == streamOpen { // of a getMore
				unreadable = 0
			}
			cs.updatePbrtFromCommand()
			if nonBlocking {
				return
			}
		}
	}
}

// unreadableReply reports whether the last getMore of a cursor failed because the driver cannot read the reply. The stream is resumed
// (change-streams.md, "Resumable Error"), but only once in a row: a server that always replies so would keep Next in a loop.
func unreadableReply(bc changeStreamCursor) bool {
	cursor, ok := bc.(interface{ Unreadable() bool })
	return ok && cursor.Unreadable()
}

// isContextError reports whether a call was cancelled or timed out, which includes a timeout of the server's.
func isContextError(err error) bool { return errors.Is(err, context.Canceled) || IsTimeout(err) }

// resumesAtOnce decides what the error of a getMore leaves of the stream, and reports whether it is to be resumed in the same call.
func (cs *ChangeStream) resumesAtOnce(ctx context.Context) bool {
	moved := !unmoved(cs.cursor) // events of the getMore may be lost
	// The deadline of a read can come before the context knows of its own. That of a dial, after which nothing has moved, is another.
	late := timeIsUp(ctx, cs.err) ||
		moved && errors.Is(cs.err, context.DeadlineExceeded) && !errorHasLabel(cs.err, resumableErrorLabel)
	switch {
	case errors.Is(cs.err, ErrClientDisconnected): // which has ended the stream
	case rejected(cs.err) && !errorHasLabel(cs.err, resumableErrorLabel) && !moved:
		cs.state = streamRepeats
	case !cs.isResumableError(): // as has this one
	case late && !moved && !IsTimeout(cs.err):
		cs.state, cs.err = streamRepeats, cs.noTime(moved)
	case late:
		cs.state, cs.err = streamLost, cs.noTime(moved)
	default:
		cs.state = streamLost
		cs.resumes.failed(backpressure.PolicyOf(cs.client.deployment), cs.err)
		return true
	}
	return false
}

// noTime returns the error of a call that has ended during a getMore. A server that let it wait that long has ended the series of errors.
func (cs *ChangeStream) noTime(waited bool) error {
	err := cs.err
	switch {
	case cs.resumes.last != nil:
		err = cs.resumes.interrupted(err)
	case waited && IsTimeout(err):
		err = withoutEvent(err)
	}
	if waited {
		cs.resumes = streamResumes{}
	}
	return err
}

// resume opens a new cursor behind the last event.
func (cs *ChangeStream) resume(ctx context.Context) bool {
	if err := ctx.Err(); err != nil {
		cs.err = cs.resumes.interrupted(err)
		return false
	}
	cs.leaveCursor(ctx)
	policy := backpressure.PolicyOf(cs.client.deployment)
	if cs.err = cs.resumes.begin(ctx, policy); cs.err != nil {
		cs.state = cs.afterResume(cs.err)
		return false
	}
	purpose := backpressure.PurposeOf(ctx)
	purpose.Again = true // a resume that fails is followed by others, see resumesLater
	if cs.err = cs.executeOperation(backpressure.WithPurpose(ctx, purpose), true); cs.err != nil {
		if cs.state = cs.afterResume(cs.err); timeIsUp(ctx, cs.err) { // which says nothing of servers, so the next need not wait
			cs.err = cs.resumes.interrupted(cs.err)
		} else {
			cs.resumes.failed(policy, cs.err)
		}
		return false
	}
	return true
}

// resumesLater reports whether a call whose resume has failed waits and tries another: if a read would be retried until the deadline
// (retryable-reads.md, "Why are read operations only retried once by default?").
func (cs *ChangeStream) resumesLater(ctx context.Context) bool {
	var failed driver.Error
	return cs.state == streamLost && cs.client.retryReads && csot.IsTimeoutContext(ctx) && ctx.Err() == nil &&
		errors.As(cs.err, &failed) && failed.RetryableRead() && !errorHasLabel(cs.err, driver.ErrSystemOverloadedError)
}

// rejected reports whether an overloaded server rejected a command, or the command was withheld from it. A connection that such a server
// does not accept is a network error, after which a stream is resumed (change-streams.md, "Resumable Error").
func rejected(err error) bool {
	return errorHasLabel(err, driver.ErrSystemOverloadedError) && !errorHasLabel(err, networkErrorLabel)
}

// leaveCursor closes the cursor before the stream is resumed, and those that could not be closed before: on the server they would stay
// open, one more for each resume. It leaves half of the time for the resume.
func (cs *ChangeStream) leaveCursor(ctx context.Context) {
	patience := backpressure.CleanUpTime
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline)/2 < patience {
		patience = time.Until(deadline) / 2
	}
	ctx, cancel := backpressure.InOwnTime(ctx, patience)
	defer cancel()
	cs.leave(cs.cursor)
	cs.closeLeft(ctx)
}

// leave remembers a cursor that is to be closed. Of more than a hundred, the servers have ended the first by themselves.
func (cs *ChangeStream) leave(old changeStreamCursor) {
	for _, known := range cs.left {
		if known == old {
			return
		}
	}
	if cs.left = append(cs.left, old); len(cs.left) > 100 {
		cs.left = cs.left[1:]
	}
}

// closeLeft closes the cursors that the stream has left, the latest first. It forgets those that are closed. Before a resume it stops at
// one that cannot be closed: each resume would otherwise send more commands than the one before.
func (cs *ChangeStream) closeLeft(ctx context.Context) {
	var open []changeStreamCursor
	for i := len(cs.left) - 1; i >= 0; i-- {
		cursor, ok := cs.left[i].(unseen)
		if !ok { // that of a test
			continue
		}
		if _ = cursor.Discard(ctx); cursor.ID() != 0 && cs.state != streamClosed {
			break
		}
	}
	for _, cursor := range cs.left {
		if cursor.ID() != 0 {
			open = append(open, cursor)
		}
	}
	cs.left = open
}

// afterResume returns what the error of a resume leaves of the stream. It can be resumed later if this attempt had no time
// (client-side-operations-timeout.md, "Change Streams": a timeout must not invalidate the stream), met no server, or one that steps
// down or shuts down: the reply to an aggregate need not have the label ResumableChangeStreamError. Any other error, such as that of a
// session that has ended, would come again.
func (cs *ChangeStream) afterResume(err error) streamState {
	err = wrapErrors(err)
	var failed driver.Error
	var unselected topology.ServerSelectionError
	var unconnected topology.ConnectionError
	replied := errors.As(err, &failed) && ofServer(failed.Code, failed.Raw)
	switch {
	case errors.Is(err, ErrClientDisconnected):
		return streamOpen // with the error: ended
	case isContextError(err), errorHasLabel(err, driver.ErrSystemOverloadedError),
		replied && (failed.RetryableRead() || cs.isResumableError()),
		!replied && (errors.As(err, &unselected) || errors.As(err, &unconnected) || IsPoolClearedError(err) || IsNetworkError(err)):
		return streamLost
	default:
		return streamOpen
	}
}

// ofServer reports whether an error is what a server has replied.
func ofServer(code int32, reply []byte) bool { return code != 0 || len(reply) > 0 }

// isResumableError reports whether the stream is resumed after the error: any but those of servers that cannot do so
// (change-streams.md, "Resumable Error").
//
//fork:wrap a pool that was cleared is no server that has replied
func (cs *ChangeStream) isResumableError() bool {
	var failed CommandError
	if errors.As(cs.err, &failed) && !ofServer(failed.Code, failed.Raw) {
		return true
	}
	return cs.upstreamIsResumableError()
}

// noEvent says of a timeout what the stream waited for.
type noEvent struct{ error }

func (e noEvent) Error() string { return "no event came in time: " + e.error.Error() }

func (e noEvent) Unwrap() error { return e.error }

// withoutEvent returns the error of a getMore that timed out, with a text that says so.
func withoutEvent(err error) error {
	failed, ok := err.(CommandError)
	if !ok {
		return noEvent{err}
	}
	failed.Wrapped = noEvent{failed.Wrapped}
	return failed
}

// replaceOptions lets the stream resume behind the last event, or else at the time at which it was opened. Until the first event, one
// that was opened with startAfter resumes with it: the token may be that of an event that invalidates streams (change-streams.md, "Resume
// Process").
//
//fork:replace the session's latest time, by which events may have passed, stood for that at which the stream was opened
func (cs *ChangeStream) replaceOptions(wireVersion *description.VersionRange) {
	startAt := cs.options.StartAtOperationTime
	if startAt == nil {
		startAt = cs.operationTime
	}
	startsAfter := cs.options.StartAfter != nil
	cs.options.ResumeAfter, cs.options.StartAfter, cs.options.StartAtOperationTime = nil, nil, nil
	switch {
	case cs.resumeToken != nil && startsAfter:
		cs.options.StartAfter = cs.resumeToken
	case cs.resumeToken != nil:
		cs.options.ResumeAfter = cs.resumeToken
	case knowsStartAtOperationTime(wireVersion):
		cs.options.StartAtOperationTime = startAt
	}
}
