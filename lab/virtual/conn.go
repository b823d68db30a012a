package virtual

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"time"
)

// segment is what arrives together.
type segment struct {
	at   time.Time
	data []byte // nil for the end
}

// conn is one end of a connection, a net.Conn. Writing takes no time.
type conn struct {
	host          *host
	local, remote net.Addr
	peer          *conn
	opened        time.Time     // a client's end
	wake          chan struct{} // has room for one

	// The network's lock is for these.
	segments []segment // that arrive
	err      error     // why nothing more arrives, after the segments
	deadline time.Time
	closed   bool
	sent     int // bytes
}

func (c *conn) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// reset ends the connection on both sides.
func (c *conn) reset() {
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	for _, end := range []*conn{c, c.peer} {
		if end.err == nil {
			end.segments, end.err = nil, syscall.ECONNRESET
		}
		end.signal()
	}
}

func (c *conn) Read(p []byte) (int, error) {
	for {
		c.host.mu.Lock()
		n, until, err := c.take(p)
		changed := c.host.changed
		c.host.mu.Unlock()
		if n > 0 || err != nil {
			return n, err
		}
		c.wait(until, changed)
	}
}

// take reads what has arrived. If that is nothing, it returns until when there is nothing to do, or the zero time. The network is locked.
func (c *conn) take(p []byte) (n int, until time.Time, err error) {
	now, silent := time.Now(), c.host.link == Silent
	until = c.deadline
	for !silent && len(c.segments) > 0 && n < len(p) {
		first := &c.segments[0]
		if first.at.After(now) {
			if until.IsZero() || first.at.Before(until) {
				until = first.at
			}
			break
		}
		if first.data == nil {
			c.segments, c.err = nil, io.EOF
			break
		}
		copied := copy(p[n:], first.data)
		n += copied
		if first.data = first.data[copied:]; len(first.data) == 0 {
			c.segments = c.segments[1:]
		}
	}
	switch {
	case c.closed:
		return 0, until, c.failure("read", net.ErrClosed)
	case n > 0:
		return n, until, nil
	case !silent && errors.Is(c.err, io.EOF):
		return 0, until, io.EOF
	case !silent && c.err != nil:
		return 0, until, c.failure("read", os.NewSyscallError("read", c.err))
	case !c.deadline.IsZero() && !now.Before(c.deadline):
		return 0, until, c.failure("read", os.ErrDeadlineExceeded)
	}
	return 0, until, nil
}

// wait returns at that time, unless it is zero, or when something has changed.
func (c *conn) wait(until time.Time, changed <-chan struct{}) {
	var expired <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-c.wake:
	case <-changed:
	case <-expired:
	}
}

func (c *conn) Write(p []byte) (int, error) {
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	switch {
	case c.closed:
		return 0, c.failure("write", net.ErrClosed)
	case errors.Is(c.peer.err, syscall.ECONNRESET):
		return 0, c.failure("write", os.NewSyscallError("write", syscall.ECONNRESET))
	}
	c.sent += len(p)
	c.send(slices.Clone(p))
	return len(p), nil
}

// send sends data, or the end. The network is locked.
func (c *conn) send(data []byte) {
	c.peer.segments = append(c.peer.segments, segment{time.Now().Add(c.host.latency), data})
	c.peer.signal()
}

func (c *conn) Close() error {
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	if c.closed {
		return c.failure("close", net.ErrClosed)
	}
	c.closed = true
	c.send(nil)
	c.signal()
	c.host.conns = slices.DeleteFunc(c.host.conns, func(other *conn) bool { return other == c })
	return nil
}

func (c *conn) failure(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}

func (c *conn) LocalAddr() net.Addr              { return c.local }
func (c *conn) RemoteAddr() net.Addr             { return c.remote }
func (c *conn) SetDeadline(t time.Time) error    { return c.SetReadDeadline(t) }
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

func (c *conn) SetReadDeadline(t time.Time) error {
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	if c.deadline = t; t.After(time.Now()) {
		c.deadline = t.Add(late)
	}
	c.signal()
	return nil
}
