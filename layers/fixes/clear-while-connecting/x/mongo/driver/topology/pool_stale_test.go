package topology

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// TestGenerationsOfServices is about a pool whose connections have a service, of which only those behind a load balancer have generations.
func TestGenerationsOfServices(t *testing.T) {
	service := bson.NewObjectID()
	for _, balanced := range []bool{true, false} {
		p := newPool(poolConfig{LoadBalanced: balanced})
		conn := &connection{}
		conn.desc.ServiceID = &service
		p.generation.addConnection(&service)
		p.generation.addConnection(nil)
		assert.True(t, p.stale(nil))
		assert.False(t, p.stale(conn), "load balanced: %v", balanced)
		p.generation.clear(nil)
		assert.Equal(t, !balanced, p.stale(conn), "load balanced: %v", balanced)
		p.generation.clear(&service)
		assert.True(t, p.stale(conn), "load balanced: %v", balanced)

		conn.pool, p.conns[0] = p, conn
		conn.config = &connectionConfig{loadBalanced: balanced}
		conn.desc.Kind = description.ServerKindLoadBalancer
		assert.NoError(t, p.removeConnection(conn, reason{}, nil))
		counted := map[bool]uint64{true: 0, false: 1}
		assert.Equal(t, counted[balanced], p.generation.getNumConns(&service), "load balanced: %v", balanced)
		assert.Equal(t, counted[!balanced], p.generation.getNumConns(nil), "load balanced: %v", balanced)
	}
}
