package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/wire"
)

const defaultPort = "27017"

// ParseBackend returns the address in a connection string of exactly one host. Options and credentials concern clients, which talk to
// the server themselves.
func ParseBackend(uri string) (address string, err error) {
	opts := options.Client().ApplyURI(uri)
	if err := opts.Validate(); err != nil {
		return "", fmt.Errorf("the backend's URI: %w", err)
	}
	if len(opts.Hosts) != 1 {
		return "", fmt.Errorf("the backend's URI names %d hosts; name one, such as mongodb://127.0.0.1:%s",
			len(opts.Hosts), defaultPort)
	}
	if opts.TLSConfig != nil {
		return "", errors.New("the backend's URI asks for TLS, which the lab does not speak")
	}
	if address = opts.Hosts[0]; !strings.Contains(address[strings.LastIndex(address, "]")+1:], ":") {
		address = net.JoinHostPort(strings.Trim(address, "[]"), defaultPort)
	}
	return address, nil
}

// backendConn is a session's connection to the backend.
type backendConn struct {
	conn    net.Conn
	done    chan struct{} // closed by close
	replies chan *wire.Message
	err     error // why replies was closed; not to be read before
}

// close may be called only once.
func (b *backendConn) close() {
	close(b.done)
	b.conn.Close()
}

// read passes on the backend's replies. A backend may close the connection right after a reply; that reply has been received, and
// is still sent, when the channel is closed.
func (b *backendConn) read() {
	defer close(b.replies)
	for {
		var m *wire.Message
		if m, b.err = wire.Read(b.conn); b.err != nil {
			return
		}
		select {
		case b.replies <- m:
		case <-b.done:
			b.err = net.ErrClosed
			return
		}
	}
}

func (b *backendConn) receive(ctx context.Context) (*wire.Message, error) {
	select {
	case m, open := <-b.replies:
		if !open {
			return nil, b.ended()
		}
		return m, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// unasked returns the replies while nobody waits for any; nothing comes from a backend that is not connected.
func (b *backendConn) unasked() <-chan *wire.Message {
	if b == nil {
		return nil
	}
	return b.replies
}

// ended returns why the backend's connection ended.
func (b *backendConn) ended() error {
	if errors.Is(b.err, io.EOF) {
		return errors.New("backend: it closed the connection")
	}
	return fmt.Errorf("backend: %w", b.err)
}
