package virtual

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"mongofork/lab/internal/clock"
)

const (
	// latency is the time that a message takes to the nearest host, in one direction. It cannot be none, or a loop that does nothing
	// but ask would never let time pass. It is no fraction of a deadline, or a command that is sent again and again would meet it
	// exactly.
	latency = 200*time.Microsecond + 37*time.Nanosecond
	// farther is by how much it is longer to the next nearest.
	farther = 7 * time.Microsecond
	// late is by how much reading ends after its deadline, so that a context with the same deadline always ends before.
	late = 50 * time.Nanosecond
	// apart is the time between two connections that are reset together.
	apart = time.Microsecond
)

// Link is the state of the network between all clients and one host.
type Link int

// The states of a link.
const (
	// Up delivers everything after the latency.
	Up Link = iota
	// Silent delivers nothing; what was sent meanwhile arrives once it is up again, as TCP sends it again.
	Silent
	// Refusing refuses new connections; those that there are stay.
	Refusing
	// Closing accepts new connections and closes them at once, as a proxy does whose server is away; those that there are stay.
	Closing
	// Breaking accepts new connections and resets them at once.
	Breaking
)

// Connection is a connection that a client opened.
type Connection struct {
	At   time.Time
	Host string
}

// network connects clients with hosts, in memory. All waiting is durable in the sense of testing/synctest.
type network struct {
	mu     sync.Mutex
	hosts  map[string]*host
	opened []Connection
	port   int // of the latest connection's client
	dialed time.Time
	dials  int // at that time
}

// host is a listener and the links to it.
type host struct {
	address *net.TCPAddr
	latency time.Duration
	pending chan net.Conn
	closed  chan struct{}
	close   func()

	mu      sync.Mutex
	link    Link
	changed chan struct{} // closed at the next change
	conns   []*conn       // clients' ends, in the order in which they were opened
}

func (n *network) listen(port int, latency time.Duration) *host {
	h := &host{
		address: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}, latency: latency, pending: make(chan net.Conn),
		closed: make(chan struct{}), changed: make(chan struct{}),
	}
	h.close = sync.OnceFunc(func() { close(h.closed) })
	n.hosts[h.address.String()] = h
	return h
}

// Accept implements net.Listener.
func (h *host) Accept() (net.Conn, error) {
	select {
	case c := <-h.pending:
		return c, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (h *host) Close() error {
	h.close()
	return nil
}

// Addr implements net.Listener.
func (h *host) Addr() net.Addr { return h.address }

func (h *host) state() (Link, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.link, h.changed
}

func (h *host) set(link Link) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.link = link
	close(h.changed)
	h.changed = make(chan struct{})
}

// reset ends all connections with an error on either side, one after the other. What is under way is lost.
func (h *host) reset() {
	h.mu.Lock()
	conns := slices.Clone(h.conns)
	h.mu.Unlock()
	// Those that were opened at one instant are in any order.
	slices.SortStableFunc(conns, func(a, b *conn) int { return cmp.Or(a.opened.Compare(b.opened), a.bytes()-b.bytes()) })
	for _, c := range conns {
		c.in.fail(syscall.ECONNRESET)
		c.out.fail(syscall.ECONNRESET)
		time.Sleep(apart)
	}
}

// Ending is how a connection ends.
type Ending int

// The endings of a connection.
const (
	Closed Ending = iota // as usual
	Torn                 // after some bytes of a reply
	Broken               // reset
)

// cut ends the connection from that address.
func (h *host) cut(from net.Addr, how Ending) {
	h.mu.Lock()
	var client, server *conn
	for _, c := range h.conns {
		if c.local == from {
			client, server = c, c.peer
		}
	}
	h.mu.Unlock()
	switch {
	case server == nil: // it has ended
	case how == Broken:
		for _, side := range []*stream{client.in, client.out} {
			side.fail(syscall.ECONNRESET)
		}
	case how == Torn:
		_, _ = server.Write([]byte{100, 0, 0, 0, 1, 0, 0, 0})
		server.Close()
	default:
		server.Close()
	}
}

// DialContext implements options.ContextDialer.
func (n *network) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	h := n.hosts[address]
	n.mu.Unlock()
	if h == nil {
		return nil, &net.DNSError{Err: "no such host", Name: address, IsNotFound: true}
	}
	if clock.Wait(ctx, 2*h.latency+n.turn()) != nil {
		return nil, dialError(ctx, h)
	}
	link, changed := h.state()
	for ; link == Silent; link, changed = h.state() {
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, dialError(ctx, h)
		}
	}
	if link == Refusing {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: h.address, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	client, server := n.connect(h)
	switch link {
	case Closing:
		server.Close()
		return client, nil
	case Breaking:
		h.cut(client.local, Broken)
		return client, nil
	}
	select {
	case h.pending <- server:
		return client, nil
	case <-h.closed:
		server.Close()
		return client, nil
	case <-ctx.Done():
		client.Close()
		return nil, dialError(ctx, h)
	}
}

// turn is by how much it takes longer to establish a connection, so that none of those that are begun at one instant is ready together
// with another one: the order of the monitors' and the pools' would be by chance.
func (n *network) turn() time.Duration {
	callers := make([]uintptr, 16)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		switch {
		case strings.Contains(frame.Function, "eartbeat"):
			return 130 * time.Nanosecond
		case strings.Contains(frame.Function, "rttMonitor"):
			return 170 * time.Nanosecond
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := time.Now(); !now.Equal(n.dialed) {
		n.dialed, n.dials = now, 0
	}
	n.dials++
	return time.Duration(n.dials-1) * apart
}

// dialError returns what a dialer of package net returns when its context ends: such a dialer finds that out before anything else.
func dialError(ctx context.Context, h *host) error {
	_, err := (&net.Dialer{}).DialContext(ctx, "tcp", h.address.String())
	return err
}

// connect returns both ends of a new connection.
func (n *network) connect(h *host) (client, server *conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.port++
	n.opened = append(n.opened, Connection{time.Now(), h.address.String()})
	local := &net.TCPAddr{IP: h.address.IP, Port: 1<<14 + n.port%(1<<15)}
	there, back := newStream(), newStream()
	client = &conn{host: h, in: back, out: there, local: local, remote: h.address}
	server = &conn{host: h, in: there, out: back, local: h.address, remote: local}
	client.peer, client.opened = server, time.Now()
	h.mu.Lock()
	h.conns = append(h.conns, client)
	h.mu.Unlock()
	return client, server
}

// stream carries bytes in one direction. Writing never blocks.
type stream struct {
	wake chan struct{} // has room for one

	mu       sync.Mutex
	segments []segment
	err      error // why nothing more arrives, after the segments
}

type segment struct {
	at   time.Time // when it arrives
	data []byte
	end  error // instead of data
}

func newStream() *stream { return &stream{wake: make(chan struct{}, 1)} }

func (s *stream) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *stream) send(next segment) {
	s.mu.Lock()
	s.segments = append(s.segments, next)
	s.mu.Unlock()
	s.signal()
}

func (s *stream) fail(err error) {
	s.mu.Lock()
	if s.err == nil {
		s.segments, s.err = nil, err
	}
	s.mu.Unlock()
	s.signal()
}

// take reads what has arrived. If that is nothing, it returns when the next segment arrives, or the zero time if none is under way.
func (s *stream) take(p []byte, now time.Time) (n int, next time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.segments) > 0 && n < len(p) {
		first := &s.segments[0]
		if first.at.After(now) {
			next = first.at
			break
		}
		if first.end != nil {
			s.segments, s.err = nil, first.end
			break
		}
		copied := copy(p[n:], first.data)
		n += copied
		if first.data = first.data[copied:]; len(first.data) == 0 {
			s.segments = s.segments[1:]
		}
	}
	if n == 0 {
		err = s.err
	}
	return n, next, err
}

// conn is one end of a connection.
type conn struct {
	host          *host
	in, out       *stream
	local, remote net.Addr
	peer          *conn     // the server's end, of a client's
	opened        time.Time // a client's

	mu       sync.Mutex
	deadline time.Time
	closed   bool
	sent     int // bytes
}

func (c *conn) bytes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent
}

func (c *conn) state() (deadline time.Time, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deadline, c.closed
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	for {
		now := time.Now()
		deadline, closed := c.state()
		link, changed := c.host.state()
		var n int
		var at time.Time
		var err error
		if link != Silent {
			n, at, err = c.in.take(p, now)
		}
		switch {
		case closed:
			return 0, c.failure("read", net.ErrClosed)
		case errors.Is(err, io.EOF):
			return 0, err
		case err != nil:
			return 0, c.failure("read", os.NewSyscallError("read", err))
		case n > 0:
			return n, nil
		case !deadline.IsZero() && !now.Before(deadline):
			return 0, c.failure("read", os.ErrDeadlineExceeded)
		}
		if at.IsZero() || !deadline.IsZero() && deadline.Before(at) {
			at = deadline
		}
		c.wait(at, changed)
	}
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
	case <-c.in.wake:
	case <-changed:
	case <-expired:
	}
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	if _, closed := c.state(); closed {
		return 0, c.failure("write", net.ErrClosed)
	}
	c.out.mu.Lock()
	err := c.out.err
	c.out.mu.Unlock()
	if errors.Is(err, syscall.ECONNRESET) {
		return 0, c.failure("write", os.NewSyscallError("write", err))
	}
	c.mu.Lock()
	c.sent += len(p)
	c.mu.Unlock()
	c.out.send(segment{at: time.Now().Add(c.host.latency), data: append([]byte(nil), p...)})
	return len(p), nil
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.mu.Lock()
	was := c.closed
	c.closed = true
	c.mu.Unlock()
	if was {
		return c.failure("close", net.ErrClosed)
	}
	c.out.send(segment{at: time.Now().Add(c.host.latency), end: io.EOF})
	c.in.signal()
	c.host.mu.Lock()
	c.host.conns = slices.DeleteFunc(c.host.conns, func(other *conn) bool { return other == c })
	c.host.mu.Unlock()
	return nil
}

func (c *conn) failure(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.failure("set", net.ErrClosed)
	}
	if c.deadline = t; t.After(time.Now()) {
		c.deadline = t.Add(late)
	}
	c.in.signal()
	return nil
}

// SetWriteDeadline implements net.Conn. Writing takes no time.
func (c *conn) SetWriteDeadline(time.Time) error {
	if _, closed := c.state(); closed {
		return c.failure("set", net.ErrClosed)
	}
	return nil
}
