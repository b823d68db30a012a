package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"

	"mongofork/lab/internal/wire"
)

// errClientGone means that the client closed or lost its connection.
var errClientGone = errors.New("the client is gone")

// session is one connection of a client and the one to the backend that belongs to it.
//
// One goroutine handles the requests; another reads from the client, so that a client's end is noticed while a request
// of it waits for something; a third reads from the backend for the same reason.
type session struct {
	front     *Front
	client    *Client
	transport net.Conn // what was accepted
	conn      net.Conn // with TLS where the front has it
	handle    Next

	requests chan *wire.Message
	// handled lets the reader continue after an unacknowledged request.
	handled chan struct{}
	readers sync.WaitGroup

	backend *backendConn // nil until a request is forwarded
	lastID  int32        // numbers what is sent, to either side
}

func newSession(f *Front, id uint64, conn net.Conn) *session {
	s := &session{
		front: f, client: &Client{ID: id, Address: conn.RemoteAddr()}, transport: conn, conn: conn,
		requests: make(chan *wire.Message), handled: make(chan struct{}),
	}
	if f.config.TLS != nil {
		// The handshake takes place at the first read, so a silent client costs nothing.
		s.conn = tls.Server(conn, f.config.TLS)
	}
	last := f.config.Answer
	if last == nil {
		last = s.forward
	}
	s.handle = Chain(f.config.Handlers, last)
	return s
}

// serve handles requests until either side is gone, or anything is wrong. It leaves nothing behind.
func (s *session) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	closed := closeWith(ctx, func(cause error) { end(s.conn, s.transport, cause) })
	s.readers.Go(func() { cancel(s.readRequests(ctx)) })

	err := s.handleRequests(ctx)
	if cause := context.Cause(ctx); cause != nil {
		err = cause // what came after it is its consequence
	}
	cancel(err)
	<-closed
	if s.backend != nil {
		s.backend.close()
	}
	s.readers.Wait()
	return err
}

// closeWith calls closeConn with the cause when the context ends, and then closes the returned channel.
func closeWith(ctx context.Context, closeConn func(cause error)) <-chan struct{} {
	closed := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(closed)
		closeConn(context.Cause(ctx))
	})
	return closed
}

// readRequests passes on the client's messages. The error is the reason why they ended.
func (s *session) readRequests(ctx context.Context) error {
	for {
		m, err := s.front.codec.Read(s.conn)
		if err != nil {
			return clientError("request", err)
		}
		select {
		case s.requests <- m:
		case <-ctx.Done():
			return ctx.Err()
		}
		if !m.HasFlag(wire.MoreToCome) {
			continue
		}
		// A client may send this and close. Its end must not end the session before this is handled.
		select {
		case <-s.handled:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// clientError distinguishes a client that went away from errors that need attention.
func clientError(what string, err error) error {
	for _, gone := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, gone) {
			return fmt.Errorf("%w: %w", errClientGone, err)
		}
	}
	return fmt.Errorf("%s: %w", what, err)
}

func (s *session) handleRequests(ctx context.Context) error {
	for {
		select {
		case m := <-s.requests:
			acknowledged := !m.HasFlag(wire.MoreToCome) // handlers may change the message
			if err := s.handleRequest(ctx, m); err != nil {
				return err
			}
			if !acknowledged {
				select {
				case s.handled <- struct{}{}:
				case <-ctx.Done():
				}
			}
		case _, open := <-s.backendReplies():
			if open {
				return errors.New("backend: a reply that nobody asked for")
			}
			return s.backend.ended()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *session) handleRequest(ctx context.Context, m *wire.Message) error {
	req, err := NewRequest(s.client, m)
	if err != nil {
		return fmt.Errorf("request: %w", err)
	}
	req.recordHello()
	return s.handle(ctx, req, s.replyTo(req))
}

// replyTo returns a function that sends replies to the client. Each further reply of an exhaust stream answers the previous one.
func (s *session) replyTo(req *Request) ReplyFunc {
	responseTo, acknowledged := req.Message.RequestID, req.Acknowledged()
	return func(m *wire.Message) error {
		if !acknowledged {
			return nil
		}
		m.RequestID, m.ResponseTo = s.nextID(), responseTo
		responseTo = m.RequestID
		if err := s.front.codec.Write(s.conn, m); err != nil {
			return clientError("reply", err)
		}
		return nil
	}
}

// nextID numbers messages from 1, and starts again after the largest number.
func (s *session) nextID() int32 {
	s.lastID = max(s.lastID+1, 1)
	return s.lastID
}
