package virtual

import (
	"bytes"
	"cmp"
	"context"
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
	// accept lets the front serve the server's end of a connection.
	accept func(net.Conn)

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

// turn is by how much it takes longer to establish a connection, so that none of those that are begun at one instant is ready together
// with another one: the order of the monitors' and the pools' would be by chance.
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
	client = newConn(h, &net.TCPAddr{IP: h.address.IP, Port: 1<<14 + h.opened%(1<<15)}, h.address)
	server = newConn(h, client.remote, client.local)
	client.peer, server.peer = server, client
	h.conns = append(h.conns, client, server)
	return client, server
}
