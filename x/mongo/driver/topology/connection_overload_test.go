package topology

import (
	"context"
	"io"
	"syscall"
	"testing"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/eventtest"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// TestServerOverloadDuringEstablishment is about what becomes of the server and its pool.
func TestServerOverloadDuringEstablishment(t *testing.T) {
	for _, loadBalanced := range []bool{false, true} {
		events := eventtest.NewTestPoolMonitor()
		server := failing(t, opError("dial", syscall.ECONNRESET), loadBalanced, events.PoolMonitor)
		known := server.Description()
		const attempts = 3
		for i := 0; i < attempts; i++ {
			_, err := server.Connection(context.Background())
			labeled := scripted.As[ConnectionError](t, err)
			assert.True(t, labeled.HasErrorLabel(driver.ErrSystemOverloadedError), "got %v", err)
			assert.Equal(t, server.address, labeled.ServerAddress())
		}
		// Disconnecting waits for the pool's background work, and so for the handling of the errors.
		after := server.Description()
		require.NoError(t, server.Disconnect(context.Background()))
		assert.Equal(t, known.Kind, after.Kind)
		assert.Empty(t, events.Events(func(e *event.PoolEvent) bool { return e.Type == event.ConnectionPoolCleared }))
		failed := events.Events(func(e *event.PoolEvent) bool { return e.Type == event.ConnectionCheckOutFailed })
		assert.Len(t, failed, attempts)
		assert.Equal(t, int64(0), server.OperationCount())
	}
}

// labeler is what package driver asks of such errors.
type labeler interface {
	error
	ForWrite() error
	HasErrorLabel(string) bool
}

// TestRetryableWriteLabel is about errors of a check-out that get the label: they stay of their type, with the same text.
func TestRetryableWriteLabel(t *testing.T) {
	for _, err := range []labeler{ConnectionError{Wrapped: io.EOF}, poolClearedError{err: io.EOF, address: "a"}} {
		labeled := err.ForWrite()
		assert.IsType(t, err, labeled)
		assert.Equal(t, err.Error(), labeled.Error())
		for _, label := range []string{driver.RetryableWriteError, driver.TransientTransactionError} {
			assert.False(t, err.HasErrorLabel(label))
			assert.Equal(t, label == driver.RetryableWriteError, labeled.(labeler).HasErrorLabel(label))
		}
	}
}

var errRejected = driver.Error{
	Code: 462, Name: "IngressRequestRateLimitExceeded", Labels: []string{driver.ErrSystemOverloadedError, driver.ErrRetryableError},
}
