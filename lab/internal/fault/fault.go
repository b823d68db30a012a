// Package fault makes a front, or a way between two members, misbehave on command, like a host or a network.
package fault

import (
	"context"
	"net"
	"sync"
	"time"

	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

// Kind is the kind of a fault.
type Kind string

// The kinds of faults.
const (
	// Off ends a fault.
	Off Kind = "off"
	// Silent accepts connections and requests, and answers nothing until it ends; then it continues.
	Silent Kind = "silent"
	// Reset resets all connections, and each new one.
	Reset Kind = "reset"
)

// Switch sets a fault. The zero value is off and ready for use; it is safe for concurrent use. It carries out Silent, and Reset for
// new connections. Ending the others is up to the front.
type Switch struct {
	mu      sync.Mutex
	kind    Kind          // empty for Off at first
	changed chan struct{} // closed at the next change; nil until there is a waiter
	number  int           // of the faults so far
}

// Set replaces the fault by one that ends by itself after a time, unless that is 0.
func (s *Switch) Set(kind Kind, after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kind = kind
	s.number++
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
	if number := s.number; after > 0 {
		time.AfterFunc(after, func() { s.expire(number) })
	}
}

// expire ends a fault, unless another has replaced it.
func (s *Switch) expire(number int) {
	s.mu.Lock()
	current := s.number == number
	s.mu.Unlock()
	if current {
		s.Set(Off, 0)
	}
}

// Is reports whether that is the fault.
func (s *Switch) Is(kind Kind) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kind == kind
}

// Accept implements proxy.Acceptor.
func (s *Switch) Accept(ctx context.Context, _ net.Conn) error {
	if s.Is(Reset) {
		return proxy.ErrReset
	}
	return s.Silence(ctx)
}

// Handle implements proxy.Handler.
func (s *Switch) Handle(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	if err := s.Silence(ctx); err != nil {
		return err
	}
	// A reply that the server gives meanwhile, such as to a hello that waits for news, has to be held back, too.
	return next(ctx, req, func(m *wire.Message) error {
		if err := s.Silence(ctx); err != nil {
			return err
		}
		return reply(m)
	})
}

// Silence returns nil once the fault is not Silent, or the reason why the context ended.
func (s *Switch) Silence(ctx context.Context) error {
	for {
		changed := s.silent()
		if changed == nil {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// silent returns what is closed at the next change, or nil if the fault is not Silent.
func (s *Switch) silent() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kind != Silent {
		return nil
	}
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}
