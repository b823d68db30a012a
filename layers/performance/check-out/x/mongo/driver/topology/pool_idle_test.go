package topology

import (
	"context"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

// idlePool is a pool with idle connections.
func idlePool(t *testing.T, monitor *event.PoolMonitor, connections int) *pool {
	t.Helper()
	p := newPool(poolConfig{PoolMonitor: monitor, MaintainInterval: -1})
	require.NoError(t, p.ready())
	for i := 0; i < connections; i++ {
		c := newConnection("a:27017")
		close(c.connectDone)
		c.pool, c.state, c.driverConnectionID = p, connConnected, int64(i+1)
		p.conns[c.driverConnectionID] = c
		p.idleConns = append(p.idleConns, c)
	}
	t.Cleanup(func() { p.close(context.Background()) })
	return p
}

// TestTakeIdle: the last connection that was returned is taken, with and without a monitor, and not if it has perished.
func TestTakeIdle(t *testing.T) {
	t.Parallel()
	var events []string
	for _, monitor := range []*event.PoolMonitor{nil, {Event: func(e *event.PoolEvent) { events = append(events, e.Type) }}} {
		p := idlePool(t, monitor, 3)
		p.idleConns[1].state = connDisconnected
		for _, want := range []int64{3, 1} {
			c, err := p.checkOut(context.Background())
			require.NoError(t, err)
			assert.Equal(t, want, c.driverConnectionID)
		}
		assert.Equal(t, 0, p.availableConnectionCount())
		assert.Equal(t, 2, p.totalConnectionCount())
		assert.Nil(t, p.takeIdle())
	}
	assert.Equal(t, []string{
		event.ConnectionPoolCreated, event.ConnectionPoolReady,
		event.ConnectionCheckOutStarted, event.ConnectionCheckedOut,
		event.ConnectionCheckOutStarted, event.ConnectionClosed, event.ConnectionCheckedOut,
	}, events)
}

// TestTakeTheOnlyIdle: it is taken at once.
func TestTakeTheOnlyIdle(t *testing.T) {
	t.Parallel()
	p := idlePool(t, nil, 1)
	only := p.idleConns[0]
	assert.Equal(t, only, p.takeIdle())
	assert.Nil(t, p.takeIdle())
}

// TestIdleConnectionIsTakenOnce: of many goroutines that take and return idle connections, no two have the same one.
func TestIdleConnectionIsTakenOnce(t *testing.T) {
	t.Parallel()
	const connections = 8
	p := idlePool(t, nil, connections)
	var used [connections + 1]int32
	inParallel(32, 200, func(int, int) {
		c := p.takeIdle()
		if c == nil {
			return
		}
		if !atomic.CompareAndSwapInt32(&used[c.driverConnectionID], 0, 1) {
			t.Errorf("connection %d has two users", c.driverConnectionID)
		}
		atomic.StoreInt32(&used[c.driverConnectionID], 0)
		if err := p.checkIn(c); err != nil {
			t.Error(err)
		}
	})
	assert.Equal(t, connections, p.availableConnectionCount())
	assert.Equal(t, connections, p.totalConnectionCount())
}

// TestCheckedOutConnectionIsReturnedOnce: of many goroutines that close what was checked out, one returns it, and whoever kept it has no
// connection any more, even if another checkout has the same one.
func TestCheckedOutConnectionIsReturnedOnce(t *testing.T) {
	t.Parallel()
	p := idlePool(t, nil, 1)
	s := &Server{pool: p, state: serverConnected}
	var kept []*mnet.Connection
	for n := 0; n < 50; n++ {
		out, err := s.Connection(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		assert.Equal(t, int64(1), s.OperationCount())
		inParallel(8, 1, func(int, int) { _ = out.Close() })
		assert.Equal(t, 1, p.availableConnectionCount())
		assert.Equal(t, int64(0), s.OperationCount())
		kept = append(kept, out)
	}
	out, err := s.Connection(context.Background())
	assert.NoError(t, err)
	for _, old := range kept {
		_, err := old.Read(context.Background())
		assert.ErrorIs(t, err, ErrConnectionClosed)
		assert.NoError(t, old.Close())
	}
	assert.Equal(t, 0, p.availableConnectionCount())
	assert.NoError(t, out.Close())
}
