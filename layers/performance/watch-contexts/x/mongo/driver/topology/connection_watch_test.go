package topology

import (
	"context"
	"errors"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
)

// TestLateCancel: a context that is cancelled while its read ends either fails the read and closes the connection, or does nothing to it,
// also not to the next read.
func TestLateCancel(t *testing.T) {
	t.Parallel()
	var running sync.WaitGroup
	for g := 0; g < 32; g++ {
		running.Add(1)
		go func() {
			defer running.Done()
			for n := 0; n < 50 && !t.Failed(); n++ {
				cancelWhileReading(t)
			}
		}()
	}
	running.Wait()
}

func cancelWhileReading(t *testing.T) {
	reply := []byte{5, 0, 0, 0, 1}
	c, server := pipe(t)
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
		c, server := pipe(t)
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
