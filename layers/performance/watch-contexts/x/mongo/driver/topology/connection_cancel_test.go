package topology

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
)

// pipe is a connection to a server that does nothing until the test does.
func pipe(t *testing.T) (*connection, net.Conn) {
	t.Helper()
	client, server := net.Pipe()
	c := newConnection("a:27017")
	c.nc, c.state = client, connConnected
	t.Cleanup(func() {
		_ = c.close()
		_ = server.Close()
	})
	return c, server
}

// TestCancelInTheMidst: a context that is cancelled in the midst of a write or a read ends it and closes the connection.
func TestCancelInTheMidst(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do      func(context.Context, *connection) error
		read    int // bytes that the server reads before the context is cancelled
		written []byte
	}{
		"write":       {do: func(ctx context.Context, c *connection) error { return c.writeWireMessage(ctx, make([]byte, 100)) }, read: 10},
		"read":        {do: readReply},
		"read header": {do: readReply, written: []byte{20, 0}},
		"read body":   {do: readReply, written: []byte{20, 0, 0, 0, 1, 2}},
	} {
		c, server := pipe(t)
		ctx, cancel := context.WithCancel(context.Background())
		result := make(chan error)
		go func() { result <- tt.do(ctx, c) }()
		if tt.read > 0 {
			_, err := server.Read(make([]byte, tt.read))
			require.NoError(t, err)
		}
		if len(tt.written) > 0 {
			_, err := server.Write(tt.written)
			require.NoError(t, err)
		}
		cancel()
		err := <-result
		assert.True(t, errors.Is(err, context.Canceled), "%s: %v", name, err)
		assert.True(t, c.closed(), name)
	}
}

func readReply(ctx context.Context, c *connection) error {
	_, err := c.readWireMessage(ctx)
	return err
}

// TestDeadlineInTheMidst: the connection stays open, and knows how much is still to come.
func TestDeadlineInTheMidst(t *testing.T) {
	t.Parallel()
	for rest, written := range map[int32][]byte{0: nil, 14: {20, 0, 0, 0, 1, 2}} {
		c, server := pipe(t)
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		go func() { _, _ = server.Write(written) }()
		err := readReply(ctx, c)
		assert.True(t, errors.Is(err, context.DeadlineExceeded), "%v", err)
		assert.False(t, c.closed())
		require.NotNil(t, c.awaitRemainingBytes)
		assert.Equal(t, rest, *c.awaitRemainingBytes)
	}
}

// TestCancelBeforeAndAfter: a context that has ended cancels what begins, and one that ends later does not close the connection.
func TestCancelBeforeAndAfter(t *testing.T) {
	t.Parallel()
	reply := []byte{5, 0, 0, 0, 1}

	c, server := pipe(t)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { _, _ = server.Write(reply) }()
	got, err := c.readWireMessage(ctx)
	require.NoError(t, err)
	assert.Equal(t, reply, got)
	cancel()
	go func() { _, _ = server.Write(reply) }()
	got, err = c.readWireMessage(context.Background())
	require.NoError(t, err)
	assert.Equal(t, reply, got)

	go func() { _, _ = server.Write(reply) }()
	err = readReply(ctx, c)
	assert.True(t, errors.Is(err, context.Canceled), "%v", err)
	assert.True(t, c.closed())
}
