package backpressure

import (
	"context"
	"sync"
	"sync/atomic"
)

// Closing is the end of a client, as those see it who wait for a server, a connection or the end of a backoff. It begins when the
// application disconnects the client. An operation that runs goes on until the end, unless it waits for a server or a connection. The zero
// value is a client that is open, and so is nil. It is safe for concurrent use.
type Closing struct {
	running atomic.Int64 // operations

	made, begins, ends sync.Once // of get, Begin and End

	begun chan struct{} // closed when it begins
	over  chan struct{} // closed at the end
	idle  chan struct{} // holds a value once no operation runs any more
}

// get returns the closing with its channels.
func (c *Closing) get() *Closing {
	c.made.Do(func() { c.begun, c.over, c.idle = make(chan struct{}), make(chan struct{}), make(chan struct{}, 1) })
	return c
}

// Begin begins the end of the client. Operations that begin later are refused.
func (c *Closing) Begin() {
	if c != nil {
		c.begins.Do(func() { close(c.get().begun) })
	}
}

// End wakes all who still wait.
func (c *Closing) End() {
	if c != nil {
		c.Begin() // which also makes the channels
		c.ends.Do(func() { close(c.over) })
	}
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// Begun reports whether the client is being disconnected.
func (c *Closing) Begun() bool { return c != nil && isClosed(c.get().begun) }

// Woken returns what is closed when somebody who begins to wait now has to stop: when the closing begins, or at its end if it has begun.
func (c *Closing) Woken() <-chan struct{} {
	switch {
	case c == nil:
		return nil
	case c.Begun():
		return c.ended()
	default:
		return c.begun
	}
}

// ended returns what is closed at the end.
func (c *Closing) ended() <-chan struct{} { return c.get().over }

// Over reports whether the end has come.
func (c *Closing) Over() bool { return c != nil && isClosed(c.get().over) }

// Enter counts an operation until Leave, and reports whether it may begin. Once the client is being disconnected, only one may that ends
// something.
func (c *Closing) Enter(endsSomething bool) bool {
	if c == nil {
		return true
	}
	c.running.Add(1) // before it is asked whether the closing has begun, so that Drain misses none
	if !c.Begun() || endsSomething {
		return true
	}
	c.Leave()
	return false
}

// Leave is the end of an operation.
func (c *Closing) Leave() {
	if c != nil && c.running.Add(-1) == 0 && c.Begun() {
		c.tellIdle()
	}
}

func (c *Closing) tellIdle() {
	select {
	case c.idle <- struct{}{}: // which Drain reads
	default: // it is told already
	}
}

// Drain waits until no operation runs, or the context ends. The closing has begun.
func (c *Closing) Drain(ctx context.Context) {
	if c == nil {
		return
	}
	for c.running.Load() > 0 {
		select {
		case <-c.get().idle:
		case <-ctx.Done():
			return
		}
	}
	c.get().tellIdle() // whoever else waits for that
}

// Policy knows the end of its client.
//
//fork:extend whoever waits has to know it
type Policy struct {
	closing Closing
}

// Closing returns the end of the client.
func (p *Policy) Closing() *Closing {
	if p == nil {
		return nil
	}
	return &p.closing
}

// closes tells Policy.ends what is closed at the end of the client or, with begins, once it is being disconnected.
func (p *Policy) closes(begins bool) <-chan struct{} {
	if begins {
		return p.closing.get().begun
	}
	return p.closing.ended()
}
