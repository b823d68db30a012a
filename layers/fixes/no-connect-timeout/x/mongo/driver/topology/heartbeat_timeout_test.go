package topology

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
)

// TestHeartbeatTimeout: a check can be ended, whether or not it has a timeout.
func TestHeartbeatTimeout(t *testing.T) {
	for _, connectTimeout := range []time.Duration{0, time.Minute} {
		server := NewServer("a:27017", bson.NewObjectID(), connectTimeout)
		server.conn = newConnection("a:27017")
		ctx, cancel := withHeartbeatTimeout(context.Background(), server)
		_, limited := ctx.Deadline()
		assert.Equal(t, connectTimeout > 0, limited)
		cancel()
		assert.Equal(t, connectTimeout > 0, ctx.Err() != nil)
	}
}
