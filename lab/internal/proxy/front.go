// Package proxy puts a front before a MongoDB server: a listener that decodes clients' messages, lets handlers see and change
// them, passes them on to the server, and does the same with the replies.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// ErrClose closes the client's connection, as any error does.
var ErrClose = errors.New("the connection is closed on purpose")

// errReset closes it with a TCP reset, like a crashed host.
var errReset = errors.New("the connection is reset on purpose")

// Handler sees every request on its way to the backend, and the reply on its way back.
//
// It may pass the request to next, changed or not, at once or later, and return next's reply, changed or not. Or it may return a reply of
// its own. An error closes the client's connection. If it waits, it has to stop when the context ends, which ends with the connection.
//
// A handler serves many connections concurrently, but one request of each at a time.
type Handler func(ctx context.Context, req *Request, next Next) (bson.Raw, error)

// Next passes a request on, and returns the reply to it: nil if the request is not acknowledged.
type Next func(ctx context.Context, req *Request) (bson.Raw, error)

// Config configures a front.
type Config struct {
	// Backend is the address of the server behind the front.
	Backend string
	// Answer, unless nil, takes the place of the backend.
	Answer Next
	// Accept, unless nil, is called for every connection of a client before anything is read from it. An error ends the connection.
	Accept func() error
	// Handlers see requests in this order, and replies in the reverse one.
	Handlers []Handler
}

// Front passes the requests of any number of clients to one backend. Each client connection has its own backend connection, made
// when the first request is forwarded.
type Front struct {
	config      Config
	handle      Next // all handlers
	connections sync.WaitGroup

	mu   sync.Mutex
	last uint64                             // connection's number
	open map[uint64]context.CancelCauseFunc // ends a connection
}

// New returns a front. It does not connect to the backend.
func New(config Config) *Front {
	f := &Front{config: config, handle: config.Answer, open: map[uint64]context.CancelCauseFunc{}}
	if f.handle == nil {
		f.handle = f.forward
	}
	for _, handler := range slices.Backward(config.Handlers) {
		next := f.handle
		f.handle = func(ctx context.Context, req *Request) (bson.Raw, error) { return handler(ctx, req, next) }
	}
	return f
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
	client := &Client{ID: f.last, Conn: conn}
	f.open[client.ID] = cancel
	f.connections.Go(func() {
		f.serve(ctx, client)
		cancel(nil)
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.open, client.ID)
	})
}

// Wait returns when all connections have ended.
func (f *Front) Wait() { f.connections.Wait() }

// Reset resets all connections.
func (f *Front) Reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, cancel := range f.open {
		cancel(errReset)
	}
}
