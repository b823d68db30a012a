package backpressure

import (
	"context"
	"testing"
	"time"
)

// TestClosingCountsOperations is about the operations that run when a client is disconnected: no other begins, and the closing waits for
// each of them.
func TestClosingCountsOperations(t *testing.T) {
	var c Closing
	if !c.Enter(false) {
		t.Fatal("an open client refuses an operation")
	}
	c.Begin()
	if c.Enter(false) {
		t.Fatal("an operation begins while the client is being disconnected")
	}
	if !c.Enter(true) {
		t.Fatal("an operation that ends something is refused")
	}
	drained := make(chan struct{})
	for i := 0; i < 2; i++ {
		go func() {
			c.Drain(context.Background())
			drained <- struct{}{}
		}()
	}
	c.Leave()
	late, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	c.Drain(late)
	if late.Err() == nil {
		t.Fatal("the closing does not wait for an operation that runs")
	}
	c.Leave()
	<-drained
	<-drained
	c.Drain(context.Background())
	if c.Over() {
		t.Fatal("the end has come without End")
	}
	c.End()
	if !c.Over() {
		t.Fatal("the end has not come")
	}
}

// TestClosingEndsAtOnce is about an end that nothing has begun.
func TestClosingEndsAtOnce(t *testing.T) {
	var c Closing
	c.End()
	c.End()
	if !c.Begun() || !c.Over() {
		t.Fatal("the end has not come")
	}
	<-c.Woken()
}

// TestClosesAtTheEnd is about what wakes an operation: the beginning of the end, or the end.
func TestClosesAtTheEnd(t *testing.T) {
	p := &Policy{Clock: SystemClock{}}
	for i, end := range []func(){p.Closing().Begin, p.Closing().End, func() {}} {
		if isClosed(p.closes(true)) != (i > 0) || isClosed(p.closes(false)) != (i > 1) {
			t.Fatalf("after %d steps: %v at the beginning, %v at the end", i, isClosed(p.closes(true)), isClosed(p.closes(false)))
		}
		end()
	}
}

// TestWhoIsWoken: an operation that waits is woken when the end of the client begins. One that begins to wait then is woken at the end.
func TestWhoIsWoken(t *testing.T) {
	var c Closing
	before := c.Woken()
	c.Begin()
	after := c.Woken()
	if !isClosed(before) || isClosed(after) {
		t.Fatalf("at the beginning: %v, %v", isClosed(before), isClosed(after))
	}
	c.End()
	<-after
}

// TestPauseOfADisconnectedClient is about a pause of no time, and one whose context has ended, too: the client's end counts.
func TestPauseOfADisconnectedClient(t *testing.T) {
	p := &Policy{Clock: SystemClock{}}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Pause(context.Background(), 0); err != nil {
		t.Fatalf("of an open client: %v", err)
	}
	p.Closing().Begin()
	for i := 0; i < 100; i++ {
		for _, ctx := range []context.Context{context.Background(), ended} {
			if err := p.Pause(ctx, 0); err != ErrDisconnected {
				t.Fatalf("got %v", err)
			}
		}
	}
}
