package virtual

import (
	"cmp"
	"context"
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
