package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/wire"
)

const (
	defaultPort = "27017"
	dialTimeout = 10 * time.Second
)

// Backend is the server behind a front.
type Backend struct {
	Network string // "tcp" or "unix"
	Address string
	TLS     *tls.Config // nil for a server without TLS
}

// ParseBackend returns the server in a connection string of exactly one host, with the string's TLS options. Its other options
// and its credentials concern clients, which talk to the server themselves.
func ParseBackend(uri string) (Backend, error) {
	opts := options.Client().ApplyURI(uri)
	if err := opts.Validate(); err != nil {
		return Backend{}, fmt.Errorf("the backend's URI: %w", err)
	}
	if len(opts.Hosts) != 1 {
		return Backend{}, fmt.Errorf("the backend's URI names %d hosts; name one, such as mongodb://127.0.0.1:%s",
			len(opts.Hosts), defaultPort)
	}
	return BackendAt(opts.Hosts[0], opts.TLSConfig), nil
}

// BackendAt returns the server at a host as written in connection strings: a socket's path, or an address with or without a port.
// TLS applies to addresses; nil means none.
func BackendAt(host string, encryption *tls.Config) Backend {
	if strings.HasSuffix(host, ".sock") {
		return Backend{Network: "unix", Address: host}
	}
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(strings.Trim(host, "[]"), defaultPort)
	}
	return Backend{Network: "tcp", Address: host, TLS: encryption}
}

// Dial connects, with TLS if the backend has it.
func (b Backend) Dial(ctx context.Context) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: dialTimeout}
	if b.TLS == nil {
		return dialer.DialContext(ctx, b.Network, b.Address)
	}
	return (&tls.Dialer{NetDialer: dialer, Config: b.TLS}).DialContext(ctx, b.Network, b.Address)
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
