package topology

import (
	"context"
	"errors"
	"io"
	"net"
)

// write writes a message. A cancelled context closes the connection.
//
//fork:replace a goroutine was started for each message, even if the context cannot end
func (c *connection) write(ctx context.Context, wm []byte) (err error) {
	cancel := c.watch(ctx)
	defer func() {
		if cancel.happened() && err == nil { // transformNetworkError makes the same of any other error
			err = context.Canceled
		}
	}()
	_, err = c.nc.Write(wm)
	return err
}

// read reads a message, and says what it failed to do if it fails. A cancelled context closes the connection.
//
//fork:replace as for write
func (c *connection) read(ctx context.Context) (_ []byte, failed string, err error) {
	cancel := c.watch(ctx)
	defer func() {
		if cancel.happened() && err == nil {
			failed, err = "unable to read server response", context.Canceled
		}
	}()
	return c.receive()
}

// receive reads a message, and nothing of another that may follow. If time is up before any of it, or in its midst, it notes how much the
// pool has to read before the connection can be used again: zero stands for all.
func (c *connection) receive() ([]byte, string, error) {
	var size [4]byte
	n, err := io.ReadFull(c.nc, size[:])
	if err != nil {
		if n == 0 {
			c.awaitRest(0, err)
		}
		return nil, "incomplete read of message header", err
	}
	length, err := c.parseWmSizeBytes(size)
	if err != nil {
		return nil, err.Error(), err
	}
	wm := make([]byte, length)
	n, err = io.ReadFull(c.nc, wm[copy(wm, size[:]):])
	if err != nil {
		if rest := length - int32(len(size)+n); rest > 0 { // zero would stand for all
			c.awaitRest(rest, err)
		}
		return wm, "incomplete read of full message", err
	}
	return wm, "", nil
}

// awaitRest notes how much of a reply is still to come if the error is a timeout.
func (c *connection) awaitRest(bytes int32, err error) {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		c.awaitRemainingBytes = &bytes
	}
}

// cancelWatch closes the connection once the context is cancelled.
type cancelWatch struct {
	conn     *connection
	ctx      context.Context
	stop     func() bool     // of context.AfterFunc
	listener contextListener // in a goroutine, if that cannot be used
}

// watch begins to wait for the end of a context that can end.
func (c *connection) watch(ctx context.Context) cancelWatch {
	w := cancelWatch{conn: c, ctx: ctx}
	if _, ours := c.cancellationListener.(*contextDoneListener); ours { // not one of a test
		if ctx.Done() == nil {
			return w
		}
		if w.stop = afterFunc(ctx, w.closeIfCanceled); w.stop != nil {
			return w
		}
	}
	w.listener = c.cancellationListener
	go w.listener.Listen(ctx, c.cancellationListenerCallback)
	return w
}

// closeIfCanceled closes the connection if the context was cancelled. A deadline does nothing here: the connection has it.
func (w cancelWatch) closeIfCanceled() {
	if errors.Is(w.ctx.Err(), context.Canceled) {
		w.conn.cancellationListenerCallback()
	}
}

// happened ends the watch, and reports whether the context was cancelled during it; the connection is closed then.
func (w cancelWatch) happened() bool {
	switch {
	case w.listener != nil:
		return w.listener.StopListening()
	case w.stop == nil || w.stop():
		return false
	default:
		w.closeIfCanceled() // the goroutine that does it may not have begun
		return errors.Is(w.ctx.Err(), context.Canceled)
	}
}
