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

// Backend is the server that a front stands before.
type Backend struct {
	Network string // "tcp" or "unix"
	Address string
	TLS     *tls.Config // nil for a server without TLS
}

// ParseBackend returns the server that a connection string of exactly one host names, with the string's TLS options.
// Its other options and its credentials concern clients, and those talk to the server themselves.
func ParseBackend(uri string) (Backend, error) {
	opts := options.Client().ApplyURI(uri)
	if err := opts.Validate(); err != nil {
		return Backend{}, fmt.Errorf("the backend's URI: %w", err)
	}
	if len(opts.Hosts) != 1 {
		return Backend{}, fmt.Errorf("the backend's URI names %d hosts; name one, such as mongodb://127.0.0.1:%s",
			len(opts.Hosts), defaultPort)
	}
	host := opts.Hosts[0]
	if strings.HasSuffix(host, ".sock") {
		return Backend{Network: "unix", Address: host}, nil
	}
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(strings.Trim(host, "[]"), defaultPort)
	}
	return Backend{Network: "tcp", Address: host, TLS: opts.TLSConfig}, nil
}

// dial connects, with TLS where the backend has it.
func (b Backend) dial(ctx context.Context) (net.Conn, error) {
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
