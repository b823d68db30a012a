package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
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

func (b Backend) check() error {
	if b.Network == "" || b.Address == "" {
		return errors.New("a front needs a backend; ParseBackend makes one of a URI")
	}
	return nil
}
