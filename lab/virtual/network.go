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
	hosts map[string]*host // read only

	mu     sync.Mutex // of the hosts and the connections, too
	opened []Connection
	dialed time.Time
	dials  int // at that time
}

// host is a net.Listener and the links to it. A front closes it once.
type host struct {
	*network
	address *net.TCPAddr
	latency time.Duration
	pending chan net.Conn
	closed  chan struct{}

	link    Link
	changed chan struct{} // closed at the next change
	conns   []*conn       // clients' ends, in the order in which they were opened
}

func (n *network) listen(port int, latency time.Duration) *host {
	h := &host{
		network: n, address: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}, latency: latency,
		pending: make(chan net.Conn), closed: make(chan struct{}), changed: make(chan struct{}),
	}
	n.hosts[h.address.String()] = h
	return h
}

func (h *host) Accept() (net.Conn, error) {
	select {
	case c := <-h.pending:
		return c, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

func (h *host) Addr() net.Addr { return h.address }

func (h *host) Close() error {
	close(h.closed)
	return nil
}

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
	// Those that were opened at one instant are in any order.
	slices.SortStableFunc(conns, func(a, b *conn) int { return cmp.Or(a.opened.Compare(b.opened), a.sent-b.sent) })
	h.mu.Unlock()
	for _, c := range conns {
		c.reset()
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

// cut ends the connection from that address, unless it has ended.
func (h *host) cut(from net.Addr, how Ending) {
	h.mu.Lock()
	i := slices.IndexFunc(h.conns, func(c *conn) bool { return c.local == from })
	if i < 0 {
		h.mu.Unlock()
		return
	}
	server := h.conns[i].peer
	h.mu.Unlock()
	if how == Broken {
		server.reset()
		return
	}
	if how == Torn {
		_, _ = server.Write([]byte{100, 0, 0, 0, 1, 0, 0, 0})
	}
	server.Close()
}

// DialContext implements options.ContextDialer.
func (n *network) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	h := n.hosts[address]
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
	client, server := h.connect()
	switch link {
	case Closing:
		server.Close()
	case Breaking:
		server.reset()
	default:
		select {
		case h.pending <- server:
		case <-h.closed:
			server.Close()
		}
	}
	return client, nil
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
func (h *host) connect() (client, server *conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	h.opened = append(h.opened, Connection{now, h.address.String()})
	local := &net.TCPAddr{IP: h.address.IP, Port: 1<<14 + len(h.opened)%(1<<15)}
	client = &conn{host: h, local: local, remote: h.address, opened: now, wake: make(chan struct{}, 1)}
	server = &conn{host: h, local: h.address, remote: local, peer: client, wake: make(chan struct{}, 1)}
	client.peer = server
	h.conns = append(h.conns, client)
	return client, server
}

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
