package scripted

import (
	"context"
	"time"
)

// Context is a context that ends when a test says so, regardless of the time.
type Context struct {
	context.Context

	// Until is its deadline. There is none if it is zero.
	Until time.Time

	done chan struct{}
	err  error
}

var _ context.Context = (*Context)(nil)

// NewContext returns a live context with a distant deadline.
func NewContext() *Context {
	return &Context{Context: context.Background(), Until: time.Now().Add(time.Hour), done: make(chan struct{})}
}

// End ends the context with the error.
func (c *Context) End(err error) {
	c.err = err
	close(c.done)
}

// Deadline implements the context.Context interface.
func (c *Context) Deadline() (time.Time, bool) { return c.Until, !c.Until.IsZero() }

// Done implements the context.Context interface.
func (c *Context) Done() <-chan struct{} { return c.done }

// Err implements the context.Context interface.
func (c *Context) Err() error { return c.err }
