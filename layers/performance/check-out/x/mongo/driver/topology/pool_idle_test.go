package topology

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
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
