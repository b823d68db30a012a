package virtual

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReaderMissesNoTimer is about real time: what a reader waits for may arrive after the reader has looked and before it waits.
func TestReaderMissesNoTimer(t *testing.T) {
	t.Parallel()
	h := &host{network: &network{}, address: &net.TCPAddr{}, latency: time.Millisecond}
	client, server := h.connect()
	_, err := client.Write([]byte{1})
	require.NoError(t, err)
	missed := time.AfterFunc(10*time.Second, server.changed.Broadcast)
	h.mu.Lock()
	defer h.mu.Unlock()
	buffer := make([]byte, 1)
	n, err := server.take(buffer)
	require.NoError(t, err)
	require.Zero(t, n, "it takes a millisecond")
	time.Sleep(20 * time.Millisecond) // the scheduler may take that long
	server.changed.Wait()
	assert.True(t, missed.Stop(), "the timer woke nobody")
	n, err = server.take(buffer)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
}
