// Package proxy puts a front before a MongoDB server: a listener that decodes clients' messages, lets handlers see and change
// them, passes them on to the server, and does the same with the replies.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Config configures a front.
type Config struct {
	// Backend is the address of the server behind the front.
	Backend string
	// Answer, unless nil, takes the place of the backend.
	Answer Next
	// Accept, unless nil, is called for every connection of a client before anything is read from it. It may wait until the context
	// ends; only this connection then waits. An error ends the connection.
	Accept func(ctx context.Context) error
	// Handlers see requests in this order, and replies in the reverse one.
	Handlers []Handler
	// Logger receives one line for every connection that ends with an error. Nil disables the log.
	Logger *slog.Logger
}

// Front passes the requests of any number of clients to one backend. Each client connection has its own backend connection, made
// when the first request is forwarded.
type Front struct {
	config      Config
	connections sync.WaitGroup

	mu   sync.Mutex
	last uint64                             // connection's number
	open map[uint64]context.CancelCauseFunc // ends a connection
}

// New returns a front. It does not connect to the backend.
func New(config Config) *Front {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	return &Front{config: config, open: map[uint64]context.CancelCauseFunc{}}
}

// Serve accepts clients until the context ends, and then returns nil; or until the listener fails. When it returns, the listener,
// every connection and all its goroutines are closed.
func (f *Front) Serve(ctx context.Context, listener net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer f.Wait()
	defer cancel()
	context.AfterFunc(ctx, func() { listener.Close() })
	defer listener.Close()
	for {
		conn, err := listener.Accept()
		if err != nil && ctx.Err() != nil {
			return nil
		} else if err != nil {
			return fmt.Errorf("accept on %v: %w", listener.Addr(), err)
		}
		f.Go(ctx, conn)
	}
}

// Go serves a connection of a client until either side or the context ends it.
func (f *Front) Go(ctx context.Context, conn net.Conn) {
	ctx, cancel := context.WithCancelCause(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	id := f.last
	f.open[id] = cancel
	f.connections.Go(func() {
		f.serve(ctx, id, conn)
		cancel(nil)
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.open, id)
	})
}

// Wait returns when all connections have ended.
func (f *Front) Wait() { f.connections.Wait() }

// Reset resets all connections.
func (f *Front) Reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, cancel := range f.open {
		cancel(ErrReset)
	}
}

func (f *Front) serve(ctx context.Context, id uint64, conn net.Conn) {
	s := &session{front: f, client: &Client{ID: id, Conn: conn}}
	if s.handle = f.config.Answer; s.handle == nil {
		s.handle = s.forward
	}
	for _, handler := range slices.Backward(f.config.Handlers) {
		next := s.handle
		s.handle = func(ctx context.Context, req *Request) (bson.Raw, error) { return handler(ctx, req, next) }
	}
	var err error
	if f.config.Accept != nil {
		err = f.config.Accept(ctx)
	}
	if err == nil {
		err = s.serve(ctx)
	} else {
		end(conn, err)
	}
	for _, ordinary := range []error{nil, ErrClose, ErrReset, context.Canceled} {
		if errors.Is(err, ordinary) {
			return
		}
	}
	f.config.Logger.Warn("connection closed", "client", conn.RemoteAddr().String(), "connection", id, "error", err)
}

// end closes a client's connection, or resets it like a crashed host does if that is the reason.
func end(conn net.Conn, reason error) {
	if tcp, ok := conn.(*net.TCPConn); ok && errors.Is(reason, ErrReset) {
		_ = tcp.SetLinger(0) // fails where the other side has ended the connection already
	}
	conn.Close()
}
