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
