package driver

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/uuid"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/session"
)

// A service behind a load balancer need not say how long sessions last.
func TestLoadBalancedSessions(t *testing.T) {
	id := bson.NewObjectID()
	server := description.Server{ServiceID: &id, WireVersion: &description.VersionRange{Max: 25}}
	assert.True(t, retryWritesSupported(server))
	client, err := session.NewClientSession(&session.Pool{}, uuid.UUID{})
	assert.NoError(t, err)
	assert.NoError(t, client.SetServer())
	for _, client.IsImplicit = range []bool{false, true} {
		fields, err := Operation{Client: client}.addSession(nil, description.SelectedServer{Server: server}, false)
		assert.NoError(t, err)
		assert.True(t, len(fields) > 0, "implicit: %v", client.IsImplicit)
	}
}
