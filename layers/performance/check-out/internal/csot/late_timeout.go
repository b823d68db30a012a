package csot

import (
	"context"
	"sync"
	"time"
)

// lateTimeout is a context with a timeout, whose timer runs only if somebody waits for its end.
type lateTimeout struct {
	context.Context // the parent
	deadline        time.Time

	mu       sync.Mutex
	canceled bool
	timer    context.Context // nil until somebody waits
	stop     context.CancelFunc
}

// WithServerSelectionTimeout returns a context that ends after the timeout, or with the parent if that ends earlier. If the timeout is not
// positive, it is the parent.
//
//fork:replace a timer was started for each operation, though a server and a connection are nearly always at hand
func WithServerSelectionTimeout(parent context.Context, serverSelectionTimeout time.Duration) (context.Context, context.CancelFunc) {
	ctx, late := newLateTimeout(parent, serverSelectionTimeout)
	return ctx, late.cancel // once this function is inlined, that is no closure on the heap
}

// newLateTimeout returns a context with the timeout and, if that is positive, the lateTimeout that the context is.
func newLateTimeout(parent context.Context, timeout time.Duration) (context.Context, *lateTimeout) {
	if timeout <= 0 {
		return parent, nil
	}
	c := &lateTimeout{Context: parent, deadline: time.Now().Add(timeout)}
	if d, ok := parent.Deadline(); ok && d.Before(c.deadline) {
		c.deadline = d
	}
	return c, c
}

// Deadline implements the context.Context interface, as do the following methods.
func (c *lateTimeout) Deadline() (time.Time, bool) { return c.deadline, true }

func (c *lateTimeout) Done() <-chan struct{} { return c.start().Done() }

func (c *lateTimeout) Err() error {
	c.mu.Lock()
	decided := c.timer != nil || c.canceled // then the context that start returns knows the error
	c.mu.Unlock()
	if !decided && c.Context.Err() == nil && time.Now().Before(c.deadline) {
		return nil
	}
	return c.start().Err()
}

// start returns a context that does what this one promises, with a timer.
func (c *lateTimeout) start() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer == nil {
		parent := c.Context
		if c.canceled { // then the error is Canceled, even if the deadline has passed since
			ended, end := context.WithCancel(parent)
			end()
			parent = ended
		}
		c.timer, c.stop = context.WithDeadline(parent, c.deadline)
	}
	return c.timer
}

func (c *lateTimeout) cancel() {
	if c == nil { // there is no timeout, and the parent is not to be ended
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		c.stop()
		return
	}
	c.canceled = c.canceled || time.Now().Before(c.deadline) // otherwise it has timed out already
}
