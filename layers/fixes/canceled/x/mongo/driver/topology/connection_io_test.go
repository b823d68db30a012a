package topology

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
)

// brokenConn fails each read and write. Closing it cancels the context, as closing a connection in its handshake does.
type brokenConn struct {
	net.Conn
	err    error
	cancel context.CancelFunc
}

func (b brokenConn) Read([]byte) (int, error)  { return 0, b.err }
func (b brokenConn) Write([]byte) (int, error) { return 0, b.err }
func (b brokenConn) Close() error              { b.cancel(); return b.Conn.Close() }

// The cause of an error is what failed, not what follows from closing the connection.
func TestWireMessageErrorIsReportedBeforeClose(t *testing.T) {
	for _, cause := range []error{io.EOF, context.DeadlineExceeded} {
		for name, run := range map[string]func(context.Context, *connection) error{
			"read":  func(ctx context.Context, c *connection) error { _, err := c.readWireMessage(ctx); return err },
			"write": func(ctx context.Context, c *connection) error { return c.writeWireMessage(ctx, []byte{0}) },
		} {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			client, _ := net.Pipe()
			conn := newConnection("a:27017")
			conn.nc, conn.state = brokenConn{Conn: client, err: cause, cancel: cancel}, connConnected
			err := run(ctx, conn)
			var connErr ConnectionError
			require.True(t, errors.As(err, &connErr), "%s: %v", name, err)
			assert.Equal(t, cause, connErr.Wrapped, name)
			if !errors.Is(cause, context.DeadlineExceeded) || name == "write" {
				assert.Equal(t, connDisconnected, conn.state, name)
				assert.True(t, errors.Is(ctx.Err(), context.Canceled), "the connection is closed")
			}
		}
	}
}
