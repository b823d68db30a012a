package topology

import (
	"context"
	"sync/atomic"
	"time"
)

// writeWireMessage sends a message.
//
// The error is reported before the connection is closed. Closing ends connect's context, and an error reported after that is
// sometimes context.Canceled, which hides that the server closed the connection: neither its labels nor its cause would reach the
// application.
//
//fork:replace a connection that an overloaded server closes during hello sometimes failed with context.Canceled
func (c *connection) writeWireMessage(ctx context.Context, wm []byte) error {
	deadline, fromContext := ctx.Deadline()
	if err := c.startWriting(deadline); err != nil {
		return err
	}
	err := c.write(ctx, wm)
	if err == nil {
		return nil
	}
	err = transformNetworkError(ctx, err, fromContext)
	_ = c.close()
	return ConnectionError{ConnectionID: c.id, Wrapped: err, message: "unable to write wire message to network"}
}

// readWireMessage receives a message. A connection whose reply may still come after a timeout stays open, because the pool reads
// the rest later. As in writeWireMessage, the error is reported before the connection is closed.
//
//fork:replace a connection that an overloaded server closes during hello sometimes failed with context.Canceled
func (c *connection) readWireMessage(ctx context.Context) ([]byte, error) {
	deadline, fromContext := ctx.Deadline()
	if err := c.startReading(deadline); err != nil {
		return nil, err
	}
	wm, failed, err := c.read(ctx)
	if err == nil {
		return wm, nil
	}
	err = transformNetworkError(ctx, err, fromContext)
	if c.awaitRemainingBytes == nil {
		_ = c.close()
	}
	return nil, ConnectionError{ConnectionID: c.id, Wrapped: err, message: failed}
}

// startWriting sets the deadline of the following write; the zero time means none.
func (c *connection) startWriting(deadline time.Time) error {
	if err := c.checkConnected(); err != nil {
		return err
	}
	if err := c.nc.SetWriteDeadline(deadline); err != nil {
		return ConnectionError{ConnectionID: c.id, Wrapped: err, message: "failed to set write deadline"}
	}
	return nil
}

// startReading sets the deadline of the following read.
func (c *connection) startReading(deadline time.Time) error {
	if err := c.checkConnected(); err != nil {
		return err
	}
	if err := c.nc.SetReadDeadline(deadline); err != nil {
		return ConnectionError{ConnectionID: c.id, Wrapped: err, message: "failed to set read deadline"}
	}
	return nil
}

func (c *connection) checkConnected() error {
	if atomic.LoadInt64(&c.state) != connConnected {
		return ConnectionError{ConnectionID: c.id, message: "connection is closed"}
	}
	return nil
}
