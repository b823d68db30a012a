package soak

import (
	"context"
	"net"
	"sync/atomic"
)

// dialer counts the open connections of a client.
type dialer struct {
	dial net.Dialer
	open atomic.Int64
}

// DialContext implements options.ContextDialer.
func (d *dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.dial.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	d.open.Add(1)
	return &countedConn{Conn: conn, dialer: d}, nil
}

type countedConn struct {
	net.Conn
	dialer *dialer
	closed atomic.Bool
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	if !c.closed.Swap(true) {
		c.dialer.open.Add(-1)
	}
	return c.Conn.Close()
}
