package topology

import (
	"context"
	"fmt"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// Connection knows which request it awaits the reply to.
//
//fork:extend a reply that came twice was taken for the one to the next command, which then seemed to succeed
type Connection struct {
	awaited int32 // the ID of the last request; atomic, as Write and Read do not exclude each other
}

// Write sends a message. The next reply has to be the one to it.
//
//fork:wrap a reply that came twice was taken for the one to the next command, which then seemed to succeed
func (c *Connection) Write(ctx context.Context, wm []byte) error {
	_, request, _, _, _, _ := wiremessage.ReadHeader(wm)
	atomic.StoreInt32(&c.awaited, request)
	return c.upstreamWrite(ctx, wm)
}

// Read returns the reply to the last message. One to another message ends the connection, because what follows cannot be relied on
// either. Servers of tests may say 0, which is no message of the driver's.
//
//fork:wrap a reply that came twice was taken for the one to the next command, which then seemed to succeed
func (c *Connection) Read(ctx context.Context) ([]byte, error) {
	wm, err := c.upstreamRead(ctx)
	if err != nil {
		return wm, err
	}
	_, _, answered, _, _, _ := wiremessage.ReadHeader(wm)
	if awaited := atomic.LoadInt32(&c.awaited); answered != awaited && answered != 0 {
		return nil, c.refuse(fmt.Errorf("the server replied to request %d, and not to %d", answered, awaited))
	}
	return wm, nil
}

// refuse closes the connection for a reason, and returns the error for it.
func (c *Connection) refuse(reason error) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.connection == nil { // somebody has returned it meanwhile
		return ErrConnectionClosed
	}
	_ = c.connection.close() // the reason tells more than an error of that
	return ConnectionError{ConnectionID: c.connection.id, Wrapped: reason, message: "unexpected reply"}
}
