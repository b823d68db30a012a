package mongo

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// limitBackoffs returns a context for commands to which the client's Timeout does not apply: their backoffs end after it, unless the
// deadline of who waits for them is known.
func limitBackoffs(ctx context.Context, timeout *time.Duration) context.Context {
	if timeout == nil || *timeout <= 0 {
		return ctx
	}
	if ctx == nil {
		ctx = context.Background()
	}
	purpose, waiting := backpressure.PurposeOf(ctx), ctx
	if purpose.Caller != nil {
		waiting = purpose.Caller
	}
	_, known := waiting.Deadline()
	if known || !purpose.Until.IsZero() {
		return ctx
	}
	purpose.Until = time.Now().Add(*timeout)
	return backpressure.WithPurpose(ctx, purpose)
}

// endSessions ends the sessions of the client's pool.
//
//fork:wrap the client's Timeout does not apply to it
func (c *Client) endSessions(ctx context.Context) {
	c.upstreamEndSessions(limitBackoffs(ctx, c.timeout))
}

func (c *Cursor) timeout() *time.Duration {
	if !c.hasClientTimeout {
		return nil
	}
	return &c.clientTimeout
}

// On error, the slice keeps its length, but its elements may have changed. The context's deadline or, if it has none, the client's
// Timeout ends the backoffs of all commands; closing the cursor has none.
//
//fork:wrap a cursor that closes itself must not keep its caller waiting
func (c *Cursor) All(ctx context.Context, results any) error {
	if bc, ok := c.bc.(*driver.BatchCursor); ok {
		c.bc = unseen{bc}
		defer func() { c.bc = bc }()
	}
	return c.upstreamAll(limitBackoffs(ctx, c.timeout()), results)
}

// Close closes the cursor, also at the server unless it is exhausted. After that, neither Next nor TryNext may be called; further calls
// of Close do nothing.
//
// The context's deadline or, if it has none, the client's Timeout ends the backoffs.
//
//fork:replace the client's Timeout does not apply to it
func (c *Cursor) Close(ctx context.Context) error {
	defer c.closeImplicitSession()
	if c.bc.ID() != 0 { // there is something to close at the server
		ctx = limitBackoffs(ctx, c.timeout())
	}
	return wrapErrors(c.bc.Close(ctx))
}

// storeResumeToken remembers where to resume the stream. Without a token it closes the stream.
//
//fork:replace nobody sees the result of that killCursors
func (cs *ChangeStream) storeResumeToken() error {
	if len(cs.batch) == 0 {
		if token := cs.cursor.PostBatchResumeToken(); token != nil {
			cs.resumeToken = bson.Raw(token)
			return nil
		}
	}
	token, ok := cs.Current.Lookup("_id").DocumentOK()
	if !ok {
		_ = cs.upstreamClose(limitBackoffs(context.Background(), cs.client.timeout))
		return ErrMissingResumeToken
	}
	cs.resumeToken = token
	return nil
}

// The context's deadline or, if it has none, the client's Timeout ends the backoffs.
//
//fork:wrap a stream that closes itself must not keep its caller waiting
func (cs *ChangeStream) Close(ctx context.Context) error {
	if cursor, ok := cs.cursor.(unseen); ok {
		cs.cursor = cursor.BatchCursor
	}
	return cs.upstreamClose(limitBackoffs(ctx, cs.client.timeout))
}

// Close closes the download stream.
//
// The deadline of the context with which it was opened or, if that has none, the client's Timeout ends the backoffs.
//
//fork:replace the cursor was closed with a context unrelated to the stream's
func (ds *GridFSDownloadStream) Close() error {
	if ds.cancel != nil {
		defer ds.cancel()
	}
	if ds.closed {
		return ErrStreamClosed
	}
	ds.closed = true
	if ds.cursor == nil {
		return nil
	}
	return ds.cursor.Close(backpressure.WithPurpose(context.Background(), backpressure.Purpose{Caller: ds.ctx}))
}
