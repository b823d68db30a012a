package backpressure

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
)

// TestClosingCountsOperations: once a client is being disconnected, no operation begins, and the closing waits for those that run.
func TestClosingCountsOperations(t *testing.T) {
	var c Closing
	require.True(t, c.Enter(false), "an open client refuses an operation")
	c.Begin()
	require.False(t, c.Enter(false), "an operation begins while the client is being disconnected")
	require.True(t, c.Enter(true), "an operation that ends something is refused")
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
	require.Error(t, late.Err(), "the closing does not wait for an operation that runs")
	c.Leave()
	<-drained
	<-drained
	c.Drain(context.Background())
	assert.False(t, c.Over(), "the end has come without End")
	c.End()
	assert.True(t, c.Over(), "the end has not come")
}

// TestClosingEndsAtOnce is about an end that nothing has begun.
func TestClosingEndsAtOnce(t *testing.T) {
	var c Closing
	c.End()
	c.End()
	require.True(t, c.Begun() && c.Over(), "the end has not come")
	<-c.Woken()
}

// TestClosesAtTheEnd is about what wakes an operation: the beginning of the end, or the end.
func TestClosesAtTheEnd(t *testing.T) {
	p := &Policy{Clock: SystemClock{}}
	for i, end := range []func(){p.Closing().Begin, p.Closing().End, func() {}} {
		assert.Equal(t, i > 0, isClosed(p.closes(true)), "at the beginning, after %d steps", i)
		assert.Equal(t, i > 1, isClosed(p.closes(false)), "at the end, after %d steps", i)
		end()
	}
}

// TestWhoIsWoken: an operation that waits is woken when the end of the client begins. One that begins to wait then is woken at the end.
func TestWhoIsWoken(t *testing.T) {
	var c Closing
	before := c.Woken()
	c.Begin()
	after := c.Woken()
	assert.Equal(t, []bool{true, false}, []bool{isClosed(before), isClosed(after)}, "at the beginning")
	c.End()
	<-after
}

// TestPauseOfADisconnectedClient is about a pause of no time, and one whose context has ended, too: the client's end counts.
func TestPauseOfADisconnectedClient(t *testing.T) {
	p := &Policy{Clock: SystemClock{}}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	require.NoError(t, p.Pause(context.Background(), 0), "of an open client")
	p.Closing().Begin()
	for i := 0; i < 100; i++ {
		for _, ctx := range []context.Context{context.Background(), ended} {
			require.Equal(t, ErrDisconnected, p.Pause(ctx, 0))
		}
	}
}
