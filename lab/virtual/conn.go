package virtual

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
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
	opened        time.Time
	changed       sync.Cond // of what reading and writing wait for

	// The network's lock is for these.
	segments []segment // that arrive
	err      error     // why nothing more arrives, after the segments
	deadline time.Time
	writeBy  time.Time
	closed   bool
	sent     int // bytes
}

func newConn(h *host, local, remote net.Addr) *conn {
	return &conn{host: h, local: local, remote: remote, opened: time.Now(), changed: sync.Cond{L: &h.mu}}
}

// wake wakes reading and writing. It takes the lock because, in real time, the timer that calls it may fire after a reader has looked at
// the clock and before it waits: that reader would then sleep through what it waits for.
func (c *conn) wake() {
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	c.changed.Broadcast()
}

// reset ends the connection on both sides.
func (c *conn) reset() {
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	for _, end := range []*conn{c, c.peer} {
		if end.err == nil {
			end.segments, end.err = nil, syscall.ECONNRESET
		}
		end.changed.Broadcast()
	}
}

func (c *conn) Read(p []byte) (n int, err error) {
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	for n, err = c.take(p); n == 0 && err == nil; n, err = c.take(p) {
		c.changed.Wait()
	}
	return n, err
}

// take reads what has arrived, which may be nothing. The network is locked.
func (c *conn) take(p []byte) (n int, err error) {
	now, silent := time.Now(), c.host.link == Silent
	for !silent && n < len(p) && len(c.segments) > 0 && !c.segments[0].at.After(now) {
		first := &c.segments[0]
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
		return 0, c.failure("read", net.ErrClosed)
	case n > 0:
	case !silent && errors.Is(c.err, io.EOF):
		return 0, io.EOF
	case !silent && c.err != nil:
		return 0, c.failure("read", os.NewSyscallError("read", c.err))
	case !c.deadline.IsZero() && !now.Before(c.deadline):
		return 0, c.failure("read", os.ErrDeadlineExceeded)
	}
	return n, nil
}

func (c *conn) Write(p []byte) (int, error) {
	if tamper := c.host.tamper.Load(); tamper != nil && c.local == c.host.address {
		c.deliver((*tamper)(c, p))
		return len(p), nil
	}
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	for c.host.link == Choked && c.remote == c.host.address && !c.closed && c.peer.err == nil {
		if !c.writeBy.IsZero() && !time.Now().Before(c.writeBy) {
			return 0, c.failure("write", os.ErrDeadlineExceeded)
		}
		c.changed.Wait()
	}
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
func (c *conn) send(data []byte) { c.sendAfter(0, data) }

// sendAfter sends data after a time, as long as nothing that was sent before takes longer.
func (c *conn) sendAfter(after time.Duration, data []byte) {
	after += c.host.latency
	c.peer.segments = append(c.peer.segments, segment{time.Now().Add(after), data})
	time.AfterFunc(after, c.peer.wake)
}

func (c *conn) Close() error {
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	if c.closed {
		return c.failure("close", net.ErrClosed)
	}
	c.closed = true
	c.send(nil)
	c.changed.Broadcast()
	c.host.conns = slices.DeleteFunc(c.host.conns, func(other *conn) bool { return other == c })
	return nil
}

func (c *conn) failure(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.remote }

func (c *conn) SetDeadline(t time.Time) error {
	_ = c.SetWriteDeadline(t)
	return c.SetReadDeadline(t)
}

func (c *conn) SetWriteDeadline(t time.Time) error { return c.setDeadline(&c.writeBy, t) }
func (c *conn) SetReadDeadline(t time.Time) error  { return c.setDeadline(&c.deadline, t) }

// setDeadline sets one of the deadlines, and wakes whoever it ends.
func (c *conn) setDeadline(deadline *time.Time, t time.Time) error {
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	if *deadline = t; t.After(time.Now()) {
		*deadline = t.Add(late)
		time.AfterFunc(time.Until(*deadline), c.wake)
	}
	c.changed.Broadcast()
	return nil
}

// Delivery is what a client gets of a message, or after it. Nil closes the connection.
type Delivery struct {
	After time.Duration // besides the latency
	Data  []byte
}

// Tamper sees each message that a server writes to a connection, and returns what the client gets instead. Several goroutines call it at
// the same time.
type Tamper func(server net.Conn, message []byte) []Delivery

// Tamper sets what happens to the servers' messages.
func (c *Cluster) Tamper(tamper Tamper) { c.network.tamper.Store(&tamper) }

// Open returns how many connections clients have not closed.
func (c *Cluster) Open() (n int) {
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	for _, h := range c.network.hosts {
		for _, end := range h.conns {
			if end.remote == h.address {
				n++
			}
		}
	}
	return n
}

// deliver sends the parts of a message.
func (c *conn) deliver(parts []Delivery) {
	for _, part := range parts {
		if part.Data == nil {
			time.AfterFunc(part.After, func() { _ = c.Close() })
			continue
		}
		c.host.mu.Lock()
		c.sendAfter(part.After, part.Data)
		c.host.mu.Unlock()
	}
}
