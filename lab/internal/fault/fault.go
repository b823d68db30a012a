// Package fault makes a front misbehave on command, like a host or a network.
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
	// Restart resets all connections and stops listening; when it ends, the front is back at the same address.
	Restart Kind = "restart"
)

// Fault is a front's fault.
type Fault struct {
	Kind Kind `json:"kind"`
	// Delay is the time for which Slow delays each request.
	Delay time.Duration `json:"delayNanoseconds,omitempty"`
}

// Check returns an error if the fault makes no sense.
func (f Fault) Check() error {
	switch f.Kind {
	case Off, Silent, Reset, Restart:
		if f.Delay != 0 {
			return fmt.Errorf("fault %q: only %q takes a delay", f.Kind, Slow)
		}
	case Slow:
		if f.Delay <= 0 {
			return fmt.Errorf("fault %q: give a delay of more than 0, such as 100ms", f.Kind)
		}
	default:
		return fmt.Errorf("fault %q is unknown; give %q, %q, %q, %q or %q", f.Kind, Off, Silent, Slow, Reset, Restart)
	}
	return nil
}

// Switch sets a front's fault. The zero value is off and ready for use; it is safe for concurrent use.
//
// It carries out Silent and Slow, and Reset for new connections. Ending connections and closing the listener is up to the front's
// server.
type Switch struct {
	mu      sync.Mutex
	fault   Fault
	changed chan struct{} // closed at the next change; nil until there is a waiter
	expiry  *time.Timer   // of the fault; nil for one without
}

// Set replaces the fault.
func (s *Switch) Set(f Fault) { s.SetFor(f, 0) }

// SetFor replaces the fault. It ends by itself after that time, if it is more than 0.
func (s *Switch) SetFor(f Fault, duration time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setLocked(f)
	if duration > 0 && f.Kind != Off {
		var expiry *time.Timer
		expiry = time.AfterFunc(duration, func() { s.expire(&expiry) })
		s.expiry = expiry
	}
}

// expire ends its fault, unless another has replaced it. The timer may fire before its variable is set, which is read under the
// lock that SetFor holds.
func (s *Switch) expire(expiry **time.Timer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.expiry == *expiry {
		s.setLocked(Fault{Kind: Off})
	}
}

// Stop stops the timer. The fault remains.
func (s *Switch) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopLocked()
}

func (s *Switch) stopLocked() {
	if s.expiry != nil {
		s.expiry.Stop()
		s.expiry = nil
	}
}

func (s *Switch) setLocked(f Fault) {
	s.stopLocked()
	s.fault = f
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
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
	return s.While(ctx, Silent)
}

// Handle implements proxy.Handler.
func (s *Switch) Handle(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	if err := s.While(ctx, Silent); err != nil {
		return err
	}
	if f := s.Current(); f.Kind == Slow {
		if err := (clock.System{}).Wait(ctx, f.Delay); err != nil {
			return err
		}
	}
	// A reply that the server gives meanwhile, such as to a hello that waits for news, has to be held back, too.
	return next(ctx, req, func(m *wire.Message) error {
		if err := s.While(ctx, Silent); err != nil {
			return err
		}
		return reply(m)
	})
}

// While returns nil once the fault is not of that kind, or the reason why the context ended.
func (s *Switch) While(ctx context.Context, kind Kind) error {
	for {
		f, changed := s.watch()
		if f.Kind != kind {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
