package topology

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
)

// TestStaleByService is about a pool whose connections have a service, of which only those behind a load balancer have generations.
func TestStaleByService(t *testing.T) {
	service := bson.NewObjectID()
	for _, balanced := range []bool{true, false} {
		p := newPool(poolConfig{LoadBalanced: balanced})
		conn := &connection{}
		conn.desc.ServiceID = &service
		p.generation.addConnection(&service)
		assert.True(t, p.stale(nil))
		assert.False(t, p.stale(conn), "load balanced: %v", balanced)
		p.generation.clear(nil)
		assert.Equal(t, !balanced, p.stale(conn), "load balanced: %v", balanced)
		p.generation.clear(&service)
		assert.True(t, p.stale(conn), "load balanced: %v", balanced)
	}
}
