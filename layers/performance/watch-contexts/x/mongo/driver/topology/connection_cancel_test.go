package topology

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
)

func readReply(ctx context.Context, c *connection) error {
	_, err := c.readWireMessage(ctx)
	return err
}

// TestDeadlineInTheMidst: the connection stays open, and knows how much is still to come.
func TestDeadlineInTheMidst(t *testing.T) {
	t.Parallel()
	for rest, written := range map[int32][]byte{0: nil, 1: {7, 0, 0, 0, 1, 2}, 14: {20, 0, 0, 0, 1, 2}} {
		c, server := piped(t)
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		go func() {
			_, _ = server.Write(written) // returns once that is read
			_ = c.nc.SetReadDeadline(time.Now())
		}()
		err := readReply(ctx, c)
		assert.True(t, errors.Is(err, context.DeadlineExceeded), "%v", err)
		assert.False(t, c.closed())
		require.NotNil(t, c.awaitRemainingBytes)
		assert.Equal(t, rest, *c.awaitRemainingBytes)
	}
	c, server := piped(t)
	go func() { _, _ = server.Write(make([]byte, 4)) }()
	assert.ErrorContains(t, readReply(context.Background(), c), "malformed message length: 0")
}

// TestLateWatch: whoever ends a watch closes the connection if the goroutine that does so has not begun.
func TestLateWatch(t *testing.T) {
	t.Parallel()
	c, _ := piped(t)
	ctx, cancel := context.WithCancel(context.Background())
	w := cancelWatch{conn: c, ctx: ctx, stop: func() bool { return false }}
	assert.False(t, w.happened() || c.closed(), "a deadline does so")
	cancel()
	assert.True(t, w.happened() && c.closed())
}

// TestLateCancel: a context that is cancelled while its read ends fails this read and closes the connection, or does nothing.
func TestLateCancel(t *testing.T) {
	t.Parallel()
	inParallel(32, 50, func(int, int) {
		if !t.Failed() {
			cancelWhileReading(t)
		}
	})
}

func cancelWhileReading(t *testing.T) {
	reply := []byte{5, 0, 0, 0, 1}
	c, server := piped(t)
	ctx, cancel := context.WithCancel(context.Background())
	canceled := make(chan struct{})
	go func() {
		_, _ = server.Write(reply)
		_, _ = server.Write(reply)
	}()
	go func() {
		defer close(canceled)
		cancel()
	}()
	_, err := c.readWireMessage(ctx)
	if err != nil {
		assert.True(t, errors.Is(err, context.Canceled), "%v", err)
		assert.True(t, c.closed(), "the read failed, and the connection is open")
		return
	}
	<-canceled
	got, err := c.readWireMessage(context.Background())
	require.NoError(t, err, "the context of the read before closed the connection")
	assert.Equal(t, reply, got)
}

// TestWatchesOfOneContext: a context that many connections are read with closes each of them.
func TestWatchesOfOneContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	var reading sync.WaitGroup
	for g := 0; g < 32; g++ {
		c, server := piped(t)
		header := make(chan struct{})
		go func() {
			_, _ = server.Write([]byte{20, 0, 0, 0})
			close(header)
		}()
		reading.Add(1)
		go func() {
			defer reading.Done()
			_, err := c.readWireMessage(ctx)
			assert.True(t, errors.Is(err, context.Canceled), "%v", err)
			assert.True(t, c.closed())
		}()
		<-header
	}
	cancel()
	reading.Wait()
}
