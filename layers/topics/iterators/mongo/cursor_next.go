package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/internal/mongoutil"
)

// Cursor knows whether the error of its last Next has ended it.
//
//fork:extend an error that leaves the cursor open, and where it was, ended it
type Cursor struct {
	goesOn bool // the error of the last Next has not ended it
	closed bool // by Close
}

// ID returns the ID of the cursor. It is 0 once no document can follow those that the cursor already has: it is exhausted or closed, or
// an error has ended it.
//
//fork:replace whoever iterates has to know whether an error ended the cursor
func (c *Cursor) ID() int64 {
	if c.closed || c.err != nil && !c.goesOn {
		return 0
	}
	return c.bc.ID()
}

// Next waits for the next document, and makes it the current one. If it returns false, Err tells why: it is nil once the cursor is
// exhausted. It waits until the deadline of ctx or, without one, as long as the client's Timeout; without either, as long as it takes.
//
// After an error the cursor goes on only if it is where it was: if the command was not sent, because there was no connection in time or
// the pool was cleared, or if an overloaded server rejected it. The next call sends it again then. Any other error ends the cursor, also a
// timeout, for which IsTimeout is true, or a cancellation while Next waits for the reply. ID is 0 if the cursor has ended.
//
// If MaxAwaitTime is set and not less than the time that is left, Next fails and sends nothing.
//
//fork:replace its comment said that nothing can follow an error
func (c *Cursor) Next(ctx context.Context) bool { return c.next(ctx, false) }

// TryNext makes the next document the current one if there is one: but for retries, it asks the server only once, which waits for documents
// up to MaxAwaitTime. Errors are as those of Next. After an error that did not end the cursor, or without one unless ID is 0, it can be
// called again. It is meant for tailable cursors: see https://www.mongodb.com/docs/manual/core/tailable-cursors/.
//
//fork:replace its comment said that nothing can follow an error
func (c *Cursor) TryNext(ctx context.Context) bool { return c.next(ctx, true) }

// Err returns the error of the last Next or TryNext, or nil if there was none.
//
//fork:replace its comment did not say of which call
func (c *Cursor) Err() error { return c.err }

// An error that leaves the cursor where it was does not end it.
//
//fork:wrap an error that leaves the cursor where it was ended it
func (c *Cursor) next(ctx context.Context, nonBlocking bool) bool {
	if c.closed {
		return false
	}
	if c.goesOn {
		c.err, c.goesOn = nil, false
	}
	ended, refused := c.err != nil, c.awaitsTooLong(ctx, nonBlocking)
	if !c.upstreamNext(ctx, nonBlocking) {
		c.goesOn = !ended && c.err != nil && (refused || unmoved(c.bc))
		return false
	}
	return true
}

// awaitsTooLong reports whether a call will be refused, before it sends anything, because it has less time than the server may wait for
// documents. TryNext is not refused: it sends one getMore, with the time that there is.
func (c *Cursor) awaitsTooLong(ctx context.Context, nonBlocking bool) bool {
	await := c.bc.MaxAwaitTime()
	if await == nil || nonBlocking {
		return false
	}
	ctx, cancel := withTimeout(ctx, c.timeout())
	defer cancel()
	return !mongoutil.TimeoutWithinContext(ctx, *await)
}

// unmoved reports whether a cursor that failed to get its next batch is where it was.
func unmoved(bc batchCursor) bool {
	cursor, ok := bc.(interface{ Unmoved() bool })
	return ok && bc.Err() != nil && cursor.Unmoved()
}
