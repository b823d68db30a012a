package proxy

import (
	"context"
	"errors"
	"fmt"

	"mongofork/lab/internal/wire"
)

// forward sends the request to the backend and passes on its replies. It is the end of the chain of handlers.
func (s *session) forward(ctx context.Context, req *Request, reply ReplyFunc) error {
	if s.backend == nil {
		var err error
		if s.backend, err = s.dialBackend(ctx); err != nil {
			return err
		}
	}
	logical, _, ok := req.Transaction()
	if !ok || s.front.config.Sessions == nil {
		return s.exchange(ctx, req, reply)
	}
	checkIn, err := s.front.config.Sessions.checkOut(ctx, logical)
	if err != nil {
		return err
	}
	defer checkIn()
	// The backend continues when the client is gone, so the session's turn does not end either.
	return s.exchange(context.WithoutCancel(ctx), req, reply)
}

// exchange sends the request to the backend and passes on its replies.
func (s *session) exchange(ctx context.Context, req *Request, reply ReplyFunc) error {
	request := *req.Message
	request.RequestID, request.ResponseTo = s.nextID(), 0
	if err := s.front.codec.Write(s.backend.conn, &request); err != nil {
		return fmt.Errorf("backend: %w", err)
	}
	if !req.Acknowledged() {
		return nil
	}
	exhaust := request.HasFlag(wire.ExhaustAllowed)
	for previous := request.RequestID; ; {
		m, err := s.backend.receive(ctx)
		if err != nil {
			return err
		}
		// In an exhaust stream some servers answer the request over and over, others their previous reply.
		if m.ResponseTo != request.RequestID && m.ResponseTo != previous {
			return fmt.Errorf("backend: a reply to request %d, want %d", m.ResponseTo, request.RequestID)
		}
		more := m.HasFlag(wire.MoreToCome)
		if more && !exhaust {
			return errors.New("backend: moreToCome in the reply to a request without exhaustAllowed")
		}
		previous = m.RequestID
		if err := reply(m); err != nil || !more {
			return err
		}
	}
}

// backendReplies returns nil, which is never ready, without a connection to the backend.
func (s *session) backendReplies() <-chan *wire.Message {
	if s.backend == nil {
		return nil
	}
	return s.backend.replies
}
