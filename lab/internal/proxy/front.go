// Package proxy puts a front before a MongoDB server: a listener that decodes clients' messages, lets handlers see and change
// them, passes them on to the server, and does the same with the replies.
package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"

	"mongofork/lab/internal/wire"
)

// Config configures a front.
type Config struct {
	Backend Backend
	// Answer, unless nil, takes the place of the backend.
	Answer Next
	// Acceptors see new connections in this order; the first error ends the connection.
	Acceptors []Acceptor
	// Handlers see requests in this order, and replies in the reverse one.
	Handlers []Handler
	// Sessions are the backend's, shared by all its fronts; nil if the backend manages them itself.
	Sessions *Sessions
	// TLS is the configuration for clients' connections; nil for none.
	TLS *tls.Config
	// MaxMessageSize bounds messages in bytes, decompressed; 0 means wire.DefaultMaxMessageSize.
	MaxMessageSize int
	// Logger receives one line for every connection that ends with an error. Nil disables the log.
	Logger *slog.Logger
}

// Front passes the requests of any number of clients to one backend. Each client connection has its own backend connection, made
// when the first request is forwarded.
type Front struct {
	config Config
	codec  *wire.Codec
	logger *slog.Logger
}

// New returns a front. It does not connect to the backend.
func New(config Config) (*Front, error) {
	if config.Answer == nil {
		if err := config.Backend.check(); err != nil {
			return nil, err
		}
	}
	codec, err := wire.NewCodec(config.MaxMessageSize)
	if err != nil {
		return nil, err
	}
	logger := config.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Front{config: config, codec: codec, logger: logger}, nil
}

// Serve accepts clients until the context ends, and then returns nil; or until the listener fails. When it returns, the listener,
// every connection and all its goroutines are closed. If ErrReset is the cause of the context's end, the connections are reset. A
// front may be served again, on another listener.
func (f *Front) Serve(ctx context.Context, listener net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	var connections sync.WaitGroup
	defer connections.Wait()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { listener.Close() })
	defer func() {
		if stop() {
			listener.Close()
		}
	}()

	for id := uint64(1); ; id++ {
		conn, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("accept on %v: %w", listener.Addr(), err)
		}
		connections.Go(func() { f.serveConn(ctx, id, conn) })
	}
}

// serveConn serves a client until either side ends the connection.
func (f *Front) serveConn(ctx context.Context, id uint64, conn net.Conn) {
	err := f.accept(ctx, conn)
	if err == nil {
		err = newSession(f, id, conn).serve(ctx)
	} else {
		end(conn, conn, err)
	}
	if isFailure(err) {
		f.logger.Warn("connection closed", "client", conn.RemoteAddr().String(), "connection", id, "error", err)
	}
}

// accept returns the first error of an acceptor.
func (f *Front) accept(ctx context.Context, conn net.Conn) error {
	for _, acceptor := range f.config.Acceptors {
		err := acceptor.Accept(ctx, conn)
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// end closes a client's connection, or resets it if that is the reason.
func end(conn, transport net.Conn, reason error) {
	if tcp, ok := transport.(*net.TCPConn); ok && errors.Is(reason, ErrReset) {
		_ = tcp.SetLinger(0) // fails where the other side has ended the connection already
		conn = transport
	}
	conn.Close()
}

// isFailure distinguishes an error from the ordinary ends of a connection.
func isFailure(err error) bool {
	for _, ordinary := range []error{errClientGone, ErrClose, ErrReset, context.Canceled} {
		if errors.Is(err, ordinary) {
			return false
		}
	}
	return err != nil
}
