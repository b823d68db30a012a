package soak

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDialerCountsOpenConnections(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	d := &dialer{}
	var open []net.Conn
	for range 2 {
		conn, err := d.DialContext(t.Context(), "tcp", listener.Addr().String())
		require.NoError(t, err)
		open = append(open, conn)
	}
	assert.EqualValues(t, 2, d.open.Load())
	require.NoError(t, open[0].Close())
	assert.Error(t, open[0].Close(), "a second time")
	assert.EqualValues(t, 1, d.open.Load(), "is closed once")

	require.NoError(t, listener.Close())
	_, err = d.DialContext(t.Context(), "tcp", listener.Addr().String())
	assert.Error(t, err)
	assert.EqualValues(t, 1, d.open.Load(), "was never open")
	require.NoError(t, open[1].Close())
}
