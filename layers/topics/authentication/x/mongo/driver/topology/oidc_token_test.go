package topology

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
)

// TestTokenOfAReturnedConnection is about the number of a connection's token, which whoever checks the connection out next sees, too.
func TestTokenOfAReturnedConnection(t *testing.T) {
	inner := newConnection("a:27017")
	first := &Connection{connection: inner}
	first.SetOIDCTokenGenID(7)
	assert.Equal(t, uint64(7), first.OIDCTokenGenID())
	assert.Equal(t, uint64(7), (&Connection{connection: inner}).OIDCTokenGenID())
	first.mu.Lock()
	first.connection = nil // it was returned
	first.mu.Unlock()
	first.SetOIDCTokenGenID(8)
	assert.Equal(t, uint64(0), first.OIDCTokenGenID())
	assert.Equal(t, uint64(7), inner.OIDCTokenGenID())
	assert.True(t, first.mu.TryLock(), "nobody holds it")
}
