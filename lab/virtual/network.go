package virtual

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/overload"
)

const (
	// latency is the time that a message takes to the nearest host, in one direction. It is not 0, because a loop that only asks would
	// then never let time pass. It is not a fraction of a deadline, because a command that is sent again and again would then meet the
	// deadline exactly.
	latency = 200*time.Microsecond + 37*time.Nanosecond
	farther = 7 * time.Microsecond // by how much it is longer to the next nearest
	// late is how long after its deadline a read ends, so that a context with the same deadline always ends first.
	late  = 50 * time.Nanosecond
	apart = time.Microsecond // the time between two connections that are reset together
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
	// Closing accepts new connections and closes them at once, like a proxy without its server. Existing connections stay.
	Closing
	// Breaking accepts new connections and resets them at once.
	Breaking
	// Mute accepts new connections and reads nothing from them until it is up again; those that there are stay.
	Mute
	// Choked takes nothing that clients send: they wait in Write. It accepts new connections.
	Choked
)

// network connects clients with hosts, in memory. All waiting is durable in the sense of testing/synctest.
type network struct {
	hosts  []*host // read only
	tamper atomic.Pointer[Tamper]

	mu     sync.Mutex // of the hosts and the connections, too
	opened int        // connections
	dialed time.Time
	dials  int // at that time
}

// host is one address of the cluster, and the links to it.
type host struct {
	*network
	cluster *Cluster
	address *net.TCPAddr
	latency time.Duration
	limits  *overload.Front
	accept  func(net.Conn) // lets the front serve the server's end of a connection

	link    Link
	changed chan struct{} // closed at the next change
	conns   []*conn       // both ends, until they are closed, in the order in which they were opened
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
	for _, c := range h.conns {
		c.changed.Broadcast()
	}
}

// reset ends all connections with an error on either side, one after the other. What is under way is lost.
func (h *host) reset() {
	h.mu.Lock()
	conns := slices.DeleteFunc(slices.Clone(h.conns), func(c *conn) bool { return c.remote != h.address }) // clients' ends
	// Those that were opened at one instant are in any order.
	slices.SortStableFunc(conns, func(a, b *conn) int { return cmp.Or(a.opened.Compare(b.opened), a.sent-b.sent) })
	h.mu.Unlock()
	for _, c := range conns {
		c.reset()
		time.Sleep(apart)
	}
}

// DialContext implements options.ContextDialer.
func (n *network) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	h := n.hosts[slices.IndexFunc(n.hosts, func(h *host) bool { return h.address.String() == address })]
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
	case Mute:
		go func() {
			for ; link == Mute; link, changed = h.state() {
				<-changed
			}
			h.accept(server)
		}()
	default:
		h.accept(server)
	}
	return client, nil
}

// turn is added to the time of establishing a connection, so that no two connections that begin at one instant are ready at the same time.
// Otherwise chance would decide the order of the monitors' and the pools' connections.
func (n *network) turn() time.Duration {
	switch callers := debug.Stack(); {
	case bytes.Contains(callers, []byte("eartbeat")):
		return 130 * time.Nanosecond
	case bytes.Contains(callers, []byte("rttMonitor")):
		return 170 * time.Nanosecond
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
	h.opened++
	near := &net.TCPAddr{IP: h.address.IP, Port: 1<<14 + h.opened%(1<<15)}
	client = &conn{host: h, local: near, remote: h.address, opened: time.Now(), changed: sync.Cond{L: &h.mu}}
	server = &conn{host: h, local: h.address, remote: near, opened: time.Now(), changed: sync.Cond{L: &h.mu}, peer: client}
	client.peer = server
	h.conns = append(h.conns, client, server)
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
	c.send(0, slices.Clone(p))
	return len(p), nil
}

// send sends data, or the end, after a time, as long as nothing that was sent before takes longer. The network is locked.
func (c *conn) send(after time.Duration, data []byte) {
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
	c.send(0, nil)
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
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	for _, part := range parts {
		if part.Data == nil {
			time.AfterFunc(part.After, func() { _ = c.Close() })
			continue
		}
		c.send(part.After, part.Data)
	}
}
