package topology

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// TestClearedFor is about whoever waits for a connection when the pool is cleared, or comes after that, with a failure of its own.
func TestClearedFor(t *testing.T) {
	var dialled atomic.Int64
	dialer := DialerFunc(func(ctx context.Context, _, _ string) (net.Conn, error) {
		if dialled.Add(1) > 1 {
			<-ctx.Done()
		}
		return nil, &net.DNSError{IsNotFound: true}
	})
	server := NewServer("a:27017", bson.NewObjectID(), defaultConnectionTimeout,
		withMonitoringDisabled(func(bool) bool { return true }),
		WithConnectionOptions(func(...ConnectionOption) []ConnectionOption {
			return []ConnectionOption{WithDialer(func(Dialer) Dialer { return dialer })}
		}),
	)
	require.NoError(t, server.Connect(func(desc description.Server) description.Server { return desc }))
	defer func() { require.NoError(t, server.Disconnect(context.Background())) }()
	server.updateDescription(description.Server{Addr: server.address, Kind: description.ServerKindRSPrimary})

	_, failure := server.Connection(context.Background())
	require.Error(t, failure)
	_, err := server.Connection(context.Background()) // waits for one, or comes too late
	var cleared poolClearedError
	require.True(t, errors.As(err, &cleared), "got %v", err)

	broken := ConnectionError{Wrapped: io.EOF} // later, not while it was established
	assert.True(t, cleared.ClearedFor(failure))
	assert.True(t, cleared.ClearedFor(driver.Error{Wrapped: failure}))
	assert.False(t, cleared.ClearedFor(broken))
	assert.False(t, cleared.ClearedFor(err))
	assert.False(t, cleared.ClearedFor(ConnectionError{server: "b:27017"}))
	assert.False(t, poolClearedError{err: broken}.ClearedFor(broken))
	assert.False(t, poolClearedError{err: broken}.ClearedFor(failure))
	assert.False(t, poolClearedError{}.ClearedFor(failure))
}
