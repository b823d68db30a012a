package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/wire"
)

const dialTimeout = 10 * time.Second

// session is one connection of a client, with the connection to the backend that belongs to it. One goroutine handles the requests. Another
// reads from the client, so that it notices the client's end while a request waits.
type session struct {
	front   *Front
	client  *Client
	handle  Next     // all handlers
	backend net.Conn // nil until a request is forwarded
	lastID  int32    // numbers what is sent, to either side
}

// serve handles requests until either side is gone, or anything is wrong. It leaves nothing behind. The error is the first reason.
func (s *session) serve(front context.Context) error {
	ctx, cancel := context.WithCancelCause(front)
	closed := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(closed)
		end(s.client.Conn, context.Cause(ctx))
	})
	requests := make(chan *wire.Message)
	go func() {
		defer close(requests)
		cancel(s.read(ctx, requests))
	}()
	for m := range requests {
		if err := s.handleRequest(ctx, front, NewRequest(s.client, m)); err != nil {
			cancel(err)
			break
		}
	}
	<-closed
	if s.backend != nil {
		s.backend.Close()
	}
	for range requests { // until reading has ended, too
	}
	return context.Cause(ctx)
}

// read passes on the client's messages. The error is the reason why they ended.
func (s *session) read(ctx context.Context, requests chan<- *wire.Message) error {
	for {
		m, err := wire.Read(s.client.Conn)
		if err != nil {
			return clientError(err)
		}
		select {
		case requests <- m:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// clientError is ErrClose for a client that is gone, which needs no attention.
func clientError(err error) error {
	if errors.Is(err, wire.ErrMalformed) {
		return err
	}
	return ErrClose
}

// handleRequest answers a request. A hello that asks for a reply at each change is handled as a series of requests, each of which may fail.
// Each knows the state of the last reply. An error ends the series.
func (s *session) handleRequest(ctx, front context.Context, req *Request) error {
	const version = "topologyVersion"
	req.readHello()
	if !req.Acknowledged() {
		// A client may send this and close, which must not end it.
		_, err := s.handle(front, req)
		return err
	}
	streams := IsHello(req.Command) && req.Message.HasFlag(wiremessage.ExhaustAllowed) && bsondoc.Has(req.Document(), "maxAwaitTimeMS")
	req.Message.Flags &^= wiremessage.ExhaustAllowed // it has one reply
	reply := wire.Message{RequestID: req.Message.RequestID, Legacy: req.Message.Legacy, Compressor: req.Message.Compressor}
	for more := true; more; {
		var err error
		if reply.Body, err = s.handle(ctx, req.With(req.Document())); err != nil {
			return err
		}
		news, lacking := reply.Body.LookupErr(version)
		reply.Flags = 0
		if more = streams && lacking == nil && bsondoc.Succeeded(reply.Body); more {
			reply.Flags = wiremessage.MoreToCome
			req = req.With(bsondoc.With(req.Document(), bson.E{Key: version, Value: news}))
		}
		reply.RequestID, reply.ResponseTo = s.nextID(), reply.RequestID // each further one answers the previous one
		if err := wire.Write(s.client.Conn, &reply); err != nil {
			return clientError(err)
		}
	}
	return nil
}

// nextID numbers messages from 1, and starts again after the largest number.
func (s *session) nextID() int32 {
	s.lastID = max(s.lastID+1, 1)
	return s.lastID
}

// forward sends the request to the backend and returns its reply. It is the end of the chain of handlers.
func (s *session) forward(ctx context.Context, req *Request) (bson.Raw, error) {
	if s.backend == nil {
		conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", s.front.config.Backend)
		if err != nil {
			return nil, fmt.Errorf("backend: %w", err)
		}
		s.backend = conn
	}
	stop := context.AfterFunc(ctx, func() { s.backend.Close() })
	defer stop()
	request := *req.Message
	request.RequestID, request.ResponseTo, request.Legacy = s.nextID(), 0, false
	if err := wire.Write(s.backend, &request); err != nil {
		return nil, fmt.Errorf("backend: %w", err)
	}
	if !req.Acknowledged() {
		return nil, nil
	}
	m, err := wire.Read(s.backend)
	if err != nil {
		return nil, fmt.Errorf("backend: %w", err)
	}
	return m.Body, nil
}
