package topology

import (
	"context"
	"net"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
)

// The pool of a server that is not there is neither ready nor cleared, and opens no connection.
func TestPoolOfUnknownServerStaysPaused(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())

	for _, minPoolSize := range []uint64{0, 1} {
		events := make(chan string, 10)
		server := NewServer(address.Address(listener.Addr().String()), bson.NewObjectID(), time.Minute,
			WithMinConnections(func(uint64) uint64 { return minPoolSize }),
			WithConnectionPoolMaintainInterval(func(time.Duration) time.Duration { return time.Millisecond }),
			WithConnectionPoolMonitor(func(*event.PoolMonitor) *event.PoolMonitor {
				return &event.PoolMonitor{Event: func(e *event.PoolEvent) { events <- e.Type }}
			}),
		)
		require.NoError(t, server.Connect(nil))
		failed := func() bool {
			server.processErrorLock.Lock() // it is held while the description changes and the pool is cleared
			defer server.processErrorLock.Unlock()
			return server.Description().LastError != nil
		}
		require.Eventually(t, failed, time.Minute, time.Millisecond)
		require.NoError(t, server.Disconnect(context.Background()))
		close(events)
		var got []string
		for e := range events {
			got = append(got, e)
		}
		assert.Equal(t, []string{event.ConnectionPoolCreated, event.ConnectionPoolClosed}, got, "minPoolSize %d", minPoolSize)
	}
}

// TestConnectionBeforeTheServerIsKnown is about who uses a server without a topology, which would wait for a check.
func TestConnectionBeforeTheServerIsKnown(t *testing.T) {
	dial := DialerFunc(func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	server, err := ConnectServer("a:27017", nil, bson.NewObjectID(), time.Minute,
		WithConnectionOptions(func(...ConnectionOption) []ConnectionOption {
			return []ConnectionOption{WithDialer(func(Dialer) Dialer { return dial })}
		}))
	require.NoError(t, err)
	_, err = server.Connection(context.Background())
	require.ErrorContains(t, err, "connection pool for a:27017 is not ready: no check of the server has succeeded yet")
	require.NoError(t, server.Disconnect(context.Background()))
}
