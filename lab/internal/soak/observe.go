package soak

import (
	"context"
	"net"
	"sync"
	"sync/atomic"

	"mongofork/lab/internal/proxy"
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
