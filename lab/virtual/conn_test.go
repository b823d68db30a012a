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
	missed := time.AfterFunc(time.Minute, server.changed.Broadcast)
	buffer := make([]byte, 1)
	var n int
	for late := true; late; late = n > 0 { // a busy machine may come back only after that millisecond
		_, err := client.Write([]byte{1})
		require.NoError(t, err)
		h.mu.Lock()
		n, err = server.take(buffer)
		require.NoError(t, err)
		if n > 0 {
			h.mu.Unlock()
		}
	}
	defer h.mu.Unlock()
	time.Sleep(20 * time.Millisecond) // the scheduler may take that long
	server.changed.Wait()
	assert.True(t, missed.Stop(), "the timer woke nobody")
	n, err := server.take(buffer)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
}
