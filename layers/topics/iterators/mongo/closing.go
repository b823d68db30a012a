package mongo

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// timeout returns the client's Timeout, or nil if that is not set or the cursor was opened without it.
func (c *Cursor) timeout() *time.Duration {
	if !c.hasClientTimeout {
		return nil
	}
	return &c.clientTimeout
}

// The context's deadline or, if it has none, the client's Timeout is for all of the documents: reading them into a slice is one operation
// (client-side-operations-timeout.md, "timeoutMS": "any method that reads documents from a cursor into an array"). If a getMore fails, the
// slice has the documents that came before; on other errors it keeps its length, but its elements may have changed. All closes the cursor
// in any case, for which it takes at most 2 seconds more. After a Next whose error has ended the cursor, All returns that error.
//
//fork:wrap a cursor that closes itself must not keep its caller waiting; what had been read was lost
func (c *Cursor) All(ctx context.Context, results any) error {
	bc, ok := c.bc.(*driver.BatchCursor)
	if !ok { // only in tests: all cursors of the driver are BatchCursors, also those without a server
		return c.upstreamAll(ctx, results)
	}
	if c.err != nil && !c.goesOn {
		c.discard(ctx)
		return c.err
	}
	ctx, cancel := withTimeout(ctx, c.timeout())
	defer cancel()
	c.bc = collected{unseen{bc}} // an error is no reason to throw away what came before, and is returned below
	defer func() { c.bc = bc }()
	if err := c.upstreamAll(ctx, results); err != nil {
		return err
	}
	return wrapErrors(bc.Err())
}

// collected is a cursor of which whoever collects its documents takes an error for the end.
type collected struct{ unseen }

// Err returns nil.
func (collected) Err() error { return nil }

// Close closes the cursor, also at the server unless it is exhausted. After that, Next and TryNext return false; further calls of Close
// do nothing, unless no server has answered the killCursors: they send it again.
//
// It takes until the context's deadline or, if it has none, as long as the client's Timeout, or 10 seconds. If the context has ended, or
// ends before a killCursors is sent, one is sent nevertheless, for which Close takes at most 2 seconds more.
//
//fork:replace the client's Timeout does not apply to it; the cursor stayed open if the context had ended
func (c *Cursor) Close(ctx context.Context) error {
	defer c.closeImplicitSession()
	c.closed = true
	if c.bc.ID() != 0 { // otherwise nothing is sent that takes time
		var cancel context.CancelFunc
		ctx, cancel = closingTime(ctx, c.timeout())
		defer cancel()
	}
	return wrapErrors(c.bc.Close(ctx))
}

// storeResumeToken remembers where to resume the stream. Without a token it closes the stream.
//
//fork:replace nobody sees the result of that killCursors
func (cs *ChangeStream) storeResumeToken() error {
	cs.options.StartAfter = nil // the stream no longer is where that has put it
	if len(cs.batch) == 0 {     // Current was its last event (change-streams.md, "Updating the Cached Resume Token")
		if token := cs.cursor.PostBatchResumeToken(); token != nil {
			cs.resumeToken = bson.Raw(token)
			return nil
		}
	}
	token, ok := cs.Current.Lookup("_id").DocumentOK()
	if !ok {
		_ = cs.upstreamClose(context.Background()) // its cursor is unseen, and so takes at most 2 seconds
		return ErrMissingResumeToken
	}
	cs.resumeToken = token
	return nil
}

// Close closes the stream and its cursor. After that, Next and TryNext return false; further calls of Close do nothing, unless no
// server has answered the killCursors: they send it again.
//
// It takes until the context's deadline or, if it has none, as long as the client's Timeout, or 10 seconds. If the context has ended, or
// ends before a killCursors is sent, one is sent nevertheless, for which Close takes at most 2 seconds more.
//
//fork:wrap a stream that closes itself must not keep its caller waiting; the cursor stayed open if the context had ended
func (cs *ChangeStream) Close(ctx context.Context) error {
	if cursor, ok := cs.cursor.(unseen); ok { // the application sees the result of this one
		cs.cursor = cursor.BatchCursor
	}
	cs.state = streamClosed
	ctx, cancel := closingTime(ctx, cs.client.timeout)
	defer cancel()
	cursor, began, over := cs.cursor, time.Now(), ctx.Err() != nil
	retErr := cs.upstreamClose(ctx)
	if !over && errors.Is(ctx.Err(), context.Canceled) {
		began = time.Now() // it was cancelled meanwhile
	}
	if cursor != nil && cursor.ID() != 0 { // for the next Close: what is wrapped has forgotten it
		cs.cursor = cursor
	}
	if len(cs.left) > 0 {
		own, cancelOwn := backpressure.ForCleanUp(ctx)
		defer cancelOwn()
		own, cancelEnd := context.WithDeadline(own, endOfCleanUp(ctx, began))
		defer cancelEnd()
		cs.closeLeft(own)
	}
	return retErr
}

// endOfCleanUp returns the time by which all is closed: one clean-up time after the context's deadline or, if the context was cancelled or
// had no deadline after began, after began.
func endOfCleanUp(ctx context.Context, began time.Time) time.Time {
	end := began
	if deadline, _ := ctx.Deadline(); deadline.After(began) && !errors.Is(ctx.Err(), context.Canceled) {
		end = deadline
	}
	return end.Add(backpressure.CleanUpTime)
}
