package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"mongofork/lab/internal/wire"
)

// backendConn is a session's connection to the backend.
type backendConn struct {
	conn    net.Conn
	done    chan struct{} // closed by close
	replies chan *wire.Message
	err     error // why replies was closed; not to be read before
}

// dialBackend connects to the backend. When the context ends, the connection stays open a while for the command in progress.
func (s *session) dialBackend(ctx context.Context) (*backendConn, error) {
	conn, err := s.front.config.Backend.Dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("backend: %w", err)
	}
	b := &backendConn{conn: conn, done: make(chan struct{}), replies: make(chan *wire.Message)}
	context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now().Add(settleTime)) })
	s.readers.Go(func() { b.read(s.front.codec) })
	return b, nil
}

// close may be called only once.
func (b *backendConn) close() {
	close(b.done)
	b.conn.Close()
}

// read passes on the backend's replies. A backend may close the connection right after a reply; that reply has been received, and
// is still sent, when the channel is closed.
func (b *backendConn) read(codec *wire.Codec) {
	defer close(b.replies)
	for {
		var m *wire.Message
		if m, b.err = codec.Read(b.conn); b.err != nil {
			return
		}
		if _, request := m.Content.(*wire.Query); request {
			b.err = errors.New("an OP_QUERY is not a reply")
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

// ended returns why the backend's connection ended.
func (b *backendConn) ended() error {
	if errors.Is(b.err, io.EOF) {
		return errors.New("backend: it closed the connection")
	}
	return fmt.Errorf("backend: %w", b.err)
}
