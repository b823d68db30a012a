package topology

import (
	"io"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

// staleConnection is older than the last clearing of its pool.
type staleConnection struct {
	mnet.Describer
	asked func()
}

func (c staleConnection) Stale() bool {
	c.asked()
	return true
}

// changing reports whether somebody may change the server.
func changing(s *Server) bool {
	if s.processErrorLock.TryLock() {
		s.processErrorLock.Unlock()
		return false
	}
	return true
}

// TestStaleErrors: whether an error is stale is asked under the lock, so that no other error can clear the pool in between.
func TestStaleErrors(t *testing.T) {
	server := NewServer("a:27017", bson.NewObjectID(), time.Minute)
	held := false
	result := server.ProcessError(ConnectionError{Wrapped: io.EOF}, staleConnection{asked: func() { held = changing(server) }})
	assert.Equal(t, driver.NoChange, result)
	assert.True(t, held, "an error of an operation is compared without the lock")
	server.pool.generation.Lock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.ProcessHandshakeError(ConnectionError{Wrapped: io.EOF}, 0, nil)
	}()
	require.Eventually(t, func() bool { return changing(server) }, time.Minute, time.Millisecond,
		"an error of a handshake is compared without the lock")
	server.pool.generation.Unlock()
	<-done
}
