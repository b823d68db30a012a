package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/wire"
)

const dialTimeout = 10 * time.Second

// errClientGone means that the client closed or lost its connection.
var errClientGone = errors.New("the client is gone")

// session is one connection of a client and the one to the backend that belongs to it.
//
// One goroutine handles the requests; another reads from the client, so that a client's end is noticed while a request
// of it waits for something; a third reads from the backend for the same reason.
type session struct {
	front  *Front
	client *Client
	conn   net.Conn
	handle Next

	requests chan *wire.Message
	handled  chan struct{} // lets the reader continue after an unacknowledged request
	readers  sync.WaitGroup

	backend *backendConn // nil until a request is forwarded
	lastID  int32        // numbers what is sent, to either side
}

func newSession(f *Front, id uint64, conn net.Conn) *session {
	s := &session{
		front: f, client: &Client{ID: id, Address: conn.RemoteAddr()}, conn: conn,
		requests: make(chan *wire.Message), handled: make(chan struct{}),
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
	closed := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(closed)
		end(s.conn, context.Cause(ctx))
	})
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

// readRequests passes on the client's messages. The error is the reason why they ended.
func (s *session) readRequests(ctx context.Context) error {
	for {
		m, err := wire.Read(s.conn)
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
		case _, open := <-s.backend.unasked():
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
	req.readHello()
	if IsHello(req.Command) && m.HasFlag(wire.ExhaustAllowed) && bsondoc.Has(m.Body, "maxAwaitTimeMS") {
		return s.stream(ctx, req, s.replyTo(req))
	}
	return s.handle(ctx, req, s.replyTo(req))
}

// stream handles a hello to which there is a reply at each change as a series of requests, each of which knows the state of the last
// reply, so that each may fail. An error ends it.
func (s *session) stream(ctx context.Context, req *Request, reply ReplyFunc) error {
	const version = "topologyVersion"
	for more := true; more; {
		more = false
		err := s.handle(ctx, req.With(req.Document()), func(m *wire.Message) error {
			if news, err := m.Body.LookupErr(version); err == nil && bsondoc.Succeeded(m.Body) {
				m.Flags |= wire.MoreToCome
				more = true
				req = req.With(bsondoc.Rebuild(req.Document(), []string{version}, func(dst []byte) []byte {
					return bsoncore.AppendDocumentElement(dst, version, news.Value)
				}))
			}
			return reply(m)
		})
		if err != nil {
			return err
		}
	}
	return nil
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
		if err := wire.Write(s.conn, m); err != nil {
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

// forward sends the request to the backend and passes on its replies. It is the end of the chain of handlers.
func (s *session) forward(ctx context.Context, req *Request, reply ReplyFunc) error {
	if s.backend == nil {
		dialer := &net.Dialer{Timeout: dialTimeout}
		conn, err := dialer.DialContext(ctx, "tcp", s.front.config.Backend)
		if err != nil {
			return fmt.Errorf("backend: %w", err)
		}
		s.backend = &backendConn{conn: conn, done: make(chan struct{}), replies: make(chan *wire.Message)}
		s.readers.Go(s.backend.read)
	}
	request := *req.Message
	request.RequestID, request.ResponseTo = s.nextID(), 0
	if err := wire.Write(s.backend.conn, &request); err != nil {
		return fmt.Errorf("backend: %w", err)
	}
	if !req.Acknowledged() {
		return nil
	}
	for {
		m, err := s.backend.receive(ctx)
		if err != nil {
			return err
		}
		more := m.HasFlag(wire.MoreToCome) // handlers may change the message
		if err := reply(m); err != nil || !more {
			return err
		}
	}
}
