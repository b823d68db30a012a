package mongo

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
)

// withPatience returns a context for commands that outlive the caller's context, or to which the client's Timeout does not apply:
// their backoffs end at the caller's deadline or, if it has none, after the timeout. Without a caller, ctx counts. Call the
// returned function when the commands are done.
func withPatience(ctx, caller context.Context, timeout *time.Duration) (context.Context, context.CancelFunc) {
	if ctx == nil {
		ctx = context.Background()
	}
	waiting := caller
	if waiting == nil {
		waiting = ctx
	}
	if _, ok := waiting.Deadline(); !ok && timeout != nil && *timeout > 0 {
		limited, cancel := context.WithTimeout(waiting, *timeout)
		return backpressure.WithCaller(ctx, limited), cancel
	}
	if caller == nil {
		return ctx, func() {}
	}
	return backpressure.WithCaller(ctx, caller), func() {}
}

// endSessions ends the sessions of the client's pool.
//
//fork:wrap the client's Timeout does not apply to it
func (c *Client) endSessions(ctx context.Context) {
	ctx, cancel := withPatience(ctx, nil, c.timeout)
	defer cancel()
	c.upstreamEndSessions(ctx)
}

// Cursor knows who waits for it to close.
//
//fork:extend All closes the cursor with a context unrelated to its caller
type Cursor struct {
	// closing is set while All reads the cursor to its end or an error, after which the cursor closes itself.
	closing bool

	// caller is the context of the stream that reads the cursor, if one does.
	caller context.Context
}

func (c *Cursor) timeout() *time.Duration {
	if !c.hasClientTimeout {
		return nil
	}
	return &c.clientTimeout
}

// All reads the remaining documents into results, which must be a pointer to a slice, and closes the cursor. It replaces the
// slice's content; documents that have already been read are not in it. On error, the slice is unchanged. The context's deadline
// or, if it has none, the client's Timeout ends the backoffs of all commands; closing the cursor has none.
//
//fork:wrap a cursor that closes itself must not keep its caller waiting
//fork:watch Cursor.Close
func (c *Cursor) All(ctx context.Context, results any) error {
	ctx, cancel := withPatience(ctx, nil, c.timeout())
	defer cancel()

	c.closing = true
	defer func() { c.closing = false }()
	return c.upstreamAll(ctx, results)
}

// Close closes the cursor, which must not be read afterwards. Closing it again does nothing. The context's deadline or, if it has
// none, the client's Timeout ends the backoffs.
//
//fork:wrap a cursor that closes itself must not keep its caller waiting
func (c *Cursor) Close(ctx context.Context) error {
	ctx, cancel := withPatience(ctx, c.caller, c.timeout())
	defer cancel()

	if c.closing {
		ctx = backpressure.WithCleanUp(ctx)
	}
	return c.upstreamClose(ctx)
}

// ChangeStream knows who waits for it to close.
//
//fork:extend a stream whose event has no resume token closes itself with a context unrelated to its caller
type ChangeStream struct {
	closing bool
}

// loopNext reads the next batch, resuming the stream if necessary.
//
//fork:wrap the result of the killCursors before a stream is resumed is ignored
func (cs *ChangeStream) loopNext(ctx context.Context, nonBlocking bool) {
	cs.upstreamLoopNext(backpressure.WithCleanUp(ctx), nonBlocking)
}

// storeResumeToken remembers where to resume the stream. Without a token it closes the stream.
//
//fork:wrap the result of that killCursors is ignored
func (cs *ChangeStream) storeResumeToken() error {
	cs.closing = true
	defer func() { cs.closing = false }()
	return cs.upstreamStoreResumeToken()
}

// Close closes the change stream, which must not be read afterwards. Closing it again does nothing. The context's deadline or, if
// it has none, the client's Timeout ends the backoffs.
//
//fork:wrap a stream that closes itself must not keep its caller waiting
func (cs *ChangeStream) Close(ctx context.Context) error {
	ctx, cancel := withPatience(ctx, nil, cs.client.timeout)
	defer cancel()

	if cs.closing {
		ctx = backpressure.WithCleanUp(ctx)
	}
	return cs.upstreamClose(ctx)
}

// Close closes the download stream. The deadline of the context with which it was opened or, if that has none, the client's
// Timeout ends the backoffs.
//
//fork:wrap the cursor is closed with a context unrelated to the stream's
func (ds *GridFSDownloadStream) Close() error {
	if ds.cursor != nil {
		ds.cursor.caller = ds.ctx
	}
	return ds.upstreamClose()
}
