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

// TestMessageOfNoSize: nothing can be read after a size that is none.
func TestMessageOfNoSize(t *testing.T) {
	t.Parallel()
	c, server := pipe(t)
	go func() { _, _ = server.Write([]byte{3, 0, 0, 0}) }()
	assert.ErrorContains(t, readReply(context.Background(), c), "malformed message length: 3")
	assert.True(t, c.closed())
}

// ownListener is a listener that is not the driver's.
type ownListener struct{ listened chan context.Context }

func (l ownListener) Listen(ctx context.Context, abort func()) { abort(); l.listened <- ctx }
func (ownListener) StopListening() bool                        { return true }

// TestOwnListener: whatever listens to the context is asked, and closes the connection.
func TestOwnListener(t *testing.T) {
	t.Parallel()
	c, _ := pipe(t)
	listener := ownListener{make(chan context.Context, 1)}
	c.cancellationListener = listener
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w := c.watch(ctx)
	assert.Equal(t, ctx, <-listener.listened)
	assert.True(t, c.closed())
	assert.True(t, w.happened())
}

// TestLateWatch: whoever ends a watch closes the connection if the goroutine that does so has not begun.
func TestLateWatch(t *testing.T) {
	t.Parallel()
	c, _ := pipe(t)
	ctx, cancel := context.WithCancel(context.Background())
	w := cancelWatch{conn: c, ctx: ctx, stop: func() bool { return false }}
	assert.False(t, w.happened() || c.closed(), "a deadline does so")
	cancel()
	assert.True(t, w.happened() && c.closed())
}
