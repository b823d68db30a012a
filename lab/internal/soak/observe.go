package soak

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

// maxCommands is the specification's limit of commands for one operation: one, and five retries.
const maxCommands = 6

// attempts counts the commands that the server saw for each operation, by the comments that the workers set. It is safe for
// concurrent use, by many fronts.
type attempts struct {
	mu    sync.Mutex
	count map[string]int
}

// Handle implements proxy.Handler.
func (a *attempts) Handle(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	// A cursor's getMore has the comment of the find, and there is one for each batch.
	if comment, ok := req.Document().Lookup("comment").StringValueOK(); ok && req.Command != "getMore" {
		a.mu.Lock()
		if a.count == nil {
			a.count = make(map[string]int)
		}
		a.count[req.Command+" "+comment]++
		a.mu.Unlock()
	}
	return next(ctx, req, reply)
}

// check reports the operations with more commands than allowed.
func (a *attempts) check(report *Report) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for operation, n := range a.count {
		report.Most = max(report.Most, n)
		if n > maxCommands {
			report.violation("operations of more than 6 commands", "%s: %d", operation, n)
		}
	}
	if len(a.count) == 0 {
		report.violation("operations that the server never saw", "it saw no comment at all")
	}
}

// commitGate holds commits while it is closed: alternately one on its way to the member, and the reply to one on its way back.
// When it opens, after the member has been killed, it resets their connections. It is safe for concurrent use, by many fronts.
type commitGate struct {
	until atomic.Int64 // in nanoseconds since 1970
	turn  atomic.Int64
	held  atomic.Int64
}

// close closes the gate for a time.
func (g *commitGate) close(d time.Duration) { g.until.Store(time.Now().Add(d).UnixNano()) }

// hold waits until the gate opens, and then resets the connection. It returns nil at once if the gate is open.
func (g *commitGate) hold(ctx context.Context) error {
	left := time.Until(time.Unix(0, g.until.Load()))
	if left <= 0 {
		return nil
	}
	g.held.Add(1)
	if err := clock.Wait(ctx, left); err != nil {
		return err
	}
	return proxy.ErrReset
}

// Handle implements proxy.Handler.
func (g *commitGate) Handle(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	if req.Command != "commitTransaction" {
		return next(ctx, req, reply)
	}
	if g.turn.Add(1)%2 == 0 {
		if err := g.hold(ctx); err != nil {
			return err
		}
	}
	return next(ctx, req, func(m *wire.Message) error {
		if err := g.hold(ctx); err != nil {
			return err
		}
		return reply(m)
	})
}

// dialer counts the open connections of a client.
type dialer struct {
	net.Dialer
	open atomic.Int64
}

// DialContext implements options.ContextDialer.
func (d *dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	d.open.Add(1)
	return &countedConn{Conn: conn, closed: sync.OnceFunc(func() { d.open.Add(-1) })}, nil
}

type countedConn struct {
	net.Conn
	closed func()
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	c.closed()
	return c.Conn.Close()
}
