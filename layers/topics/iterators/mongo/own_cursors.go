package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// unseen is a cursor whose killCursors the application does not see the result of.
type unseen struct{ *driver.BatchCursor }

// Close closes the cursor, in at most 2 seconds, whatever the context.
func (u unseen) Close(ctx context.Context) error {
	own, cancel := backpressure.ForCleanUp(ctx)
	defer cancel()
	return u.Discard(own)
}

// discard closes a cursor that the application does not see.
func (c *Cursor) discard(ctx context.Context) {
	if bc, ok := c.bc.(*driver.BatchCursor); ok {
		c.bc = unseen{bc}
		defer func() { c.bc = bc }() // the application may close it again, and sees the result
	}
	_ = c.Close(ctx)
}
