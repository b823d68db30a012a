package limits

import (
	"context"
	"net"
	"time"

	"mongofork/lab/internal/clock"
)

// slowNetwork is a network on which replies take their time, so that operations that begin together need a connection each.
type slowNetwork struct {
	net.Dialer
	latency time.Duration
}

// DialContext implements options.ContextDialer.
func (n *slowNetwork) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := n.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &slowConn{Conn: conn, latency: n.latency}, nil
}

type slowConn struct {
	net.Conn
	latency time.Duration
}

// Read implements net.Conn.
func (c *slowConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	_ = (clock.System{}).Wait(context.Background(), c.latency) // this context does not end
	return n, err
}
