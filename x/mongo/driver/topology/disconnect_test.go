package topology

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
)

// counting is a context with a deadline that counts how often it is asked for its end, which it comes to when it is asked too often.
type counting struct {
	context.Context
	asked int
	done  chan struct{}
}

const tooOften = 100

func (c *counting) Done() <-chan struct{} {
	if c.asked++; c.asked == tooOften {
		close(c.done)
	}
	return c.done
}

// TestPoolIsClosedWithoutSpinning is about a pool that is closed, with a deadline, while one of its connections is out: it waits for that,
// but does not ask for it all the time.
func TestPoolIsClosedWithoutSpinning(t *testing.T) {
	p := newPool(poolConfig{})
	p.conns[1] = &connection{}
	time.AfterFunc(5*checkInInterval, func() {
		p.createConnectionsCond.L.Lock()
		delete(p.conns, 1) // it broke, and was closed
		p.createConnectionsCond.L.Unlock()
	})
	long, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ctx := &counting{Context: long, done: make(chan struct{})}
	p.close(ctx)
	assert.Less(t, ctx.asked, tooOften)
	assert.Greater(t, ctx.asked, 1)
}
