// Package fault makes a front, or a way between two members, misbehave on command, like a host or a network.
package fault

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"mongofork/lab/internal/clock"
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
	// Slow delays every request.
	Slow Kind = "slow"
	// Reset resets all connections, and each new one.
	Reset Kind = "reset"
)

// Fault is a front's fault.
type Fault struct {
	Kind Kind `json:"kind"`
	// Delay is the time for which Slow delays each request.
	Delay time.Duration `json:"delayNanoseconds,omitempty"`
	// For is the time after which it ends by itself, unless it is 0.
	For time.Duration `json:"-"`
}

// Check returns an error if the fault makes no sense.
func (f Fault) Check() error {
	switch {
	case f.Kind != Off && f.Kind != Silent && f.Kind != Reset && f.Kind != Slow:
		return fmt.Errorf("fault %q is unknown; give %q, %q, %q or %q", f.Kind, Off, Silent, Slow, Reset)
	case (f.Kind == Slow) != (f.Delay > 0):
		return fmt.Errorf("fault %q with a delay of %v: %q, and no other, takes a delay of more than 0", f.Kind, f.Delay, Slow)
	case f.For < 0:
		return fmt.Errorf("a fault for %v: give a time of 0, which is until further notice, or more", f.For)
	}
	return nil
}

// Switch sets a fault. The zero value is off and ready for use; it is safe for concurrent use. It carries out Silent and Slow, and
// Reset for new connections. Ending the others is up to the front.
type Switch struct {
	mu      sync.Mutex
	fault   Fault
	changed chan struct{} // closed at the next change; nil until there is a waiter
	number  int           // of the faults so far
}

// Set replaces the fault.
func (s *Switch) Set(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
	s.number++
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
	if number := s.number; f.For > 0 {
		time.AfterFunc(f.For, func() { s.expire(number) })
	}
}

// expire ends a fault, unless another has replaced it.
func (s *Switch) expire(number int) {
	s.mu.Lock()
	current := s.number == number
	s.mu.Unlock()
	if current {
		s.Set(Fault{Kind: Off})
	}
}

// Current returns the fault.
func (s *Switch) Current() Fault {
	f, _ := s.watch()
	return f
}

func (s *Switch) watch() (Fault, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault.Kind == "" {
		s.fault.Kind = Off
	}
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.fault, s.changed
}

// Accept implements proxy.Acceptor.
func (s *Switch) Accept(ctx context.Context, _ net.Conn) error {
	if s.Current().Kind == Reset {
		return proxy.ErrReset
	}
	return s.Silence(ctx)
}

// Handle implements proxy.Handler.
func (s *Switch) Handle(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	if err := s.Silence(ctx); err != nil {
		return err
	}
	if err := clock.Wait(ctx, s.Current().Delay); err != nil {
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
		f, changed := s.watch()
		if f.Kind != Silent {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
