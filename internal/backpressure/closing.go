package backpressure

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// ErrDisconnected is what those get who wait for something when their client is disconnected.
var ErrDisconnected = errors.New("client is disconnected")

// Closing is the end of a client, as those see it who wait for a server, a connection or the end of a backoff. It begins when the
// application disconnects the client. An operation that runs goes on until the end, unless it waits for a server or a connection. The zero
// value is a client that is open, and so is nil. It is safe for concurrent use.
type Closing struct {
	begun   atomic.Bool
	running atomic.Int64 // operations

	mu    sync.Mutex
	over  bool
	begin chan struct{} // closed when it begins; made when it is first asked for
	end   chan struct{} // closed when it is over
	idle  chan struct{} // closed when no operation runs
}

// Begin begins the end of the client. Operations that begin later are refused.
func (c *Closing) Begin() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.begun.Load() {
		c.begun.Store(true)
		closeMade(c.begin)
	}
}

// End wakes all who still wait.
func (c *Closing) End() {
	if c == nil {
		return
	}
	c.Begin()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.over = true
		closeMade(c.end)
	}
}

func closeMade(ch chan struct{}) {
	if ch != nil {
		close(ch)
	}
}

// Begun reports whether the client is being disconnected.
func (c *Closing) Begun() bool { return c != nil && c.begun.Load() }

// Woken returns what is closed when somebody who begins to wait now has to stop: when the closing begins, or at its end if it has begun.
func (c *Closing) Woken() <-chan struct{} {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.begun.Load() {
		return made(&c.end, c.over)
	}
	return made(&c.begin, false)
}

// ended returns what is closed at the end.
func (c *Closing) ended() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return made(&c.end, c.over)
}

// made returns a channel that is made when it is first asked for, closed if what it tells has happened.
func made(ch *chan struct{}, happened bool) <-chan struct{} {
	if *ch == nil {
		*ch = make(chan struct{})
		if happened {
			close(*ch)
		}
	}
	return *ch
}

// Over reports whether the end has come.
func (c *Closing) Over() bool {
	if !c.Begun() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

// Enter counts an operation until Leave, and reports whether it may begin. Once the client is being disconnected, only one may that ends
// something.
func (c *Closing) Enter(endsSomething bool) bool {
	if c == nil {
		return true
	}
	c.running.Add(1) // before it is asked whether the closing has begun, so that Drain misses none
	if !c.begun.Load() || endsSomething {
		return true
	}
	c.Leave()
	return false
}

// Leave is the end of an operation.
func (c *Closing) Leave() {
	if c == nil || c.running.Add(-1) > 0 || !c.begun.Load() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	closeMade(c.idle)
	c.idle = nil
}

// Drain waits until no operation runs, or the context ends. The closing has begun.
func (c *Closing) Drain(ctx context.Context) {
	if c == nil {
		return
	}
	c.mu.Lock()
	idle := made(&c.idle, false)
	none := c.running.Load() == 0
	c.mu.Unlock()
	if none {
		return
	}
	select {
	case <-idle:
	case <-ctx.Done():
	}
}
