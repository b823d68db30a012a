//fork:base <v2.7.0

package mongo

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/handshake"
	"go.mongodb.org/mongo-driver/v2/internal/overloadtest"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// mongodb-handshake/tests, "Test 9: Handshake documents include backpressure: true".
func TestHandshakeProse9(t *testing.T) {
	l := overloadtest.Listen(t, overloadtest.OK(), nil)
	client, err := Connect(options.Client().ApplyURI(l.URI()))
	require.NoError(t, err)
	require.NoError(t, client.Ping(context.Background(), nil))
	require.NoError(t, client.Disconnect(context.Background()))

	handshakes := l.Handshakes()
	assert.True(t, len(handshakes) >= 2, "got %d handshakes, want those of a monitor and a pool", len(handshakes))
	for _, hello := range handshakes {
		backpressure, err := hello.LookupErr(handshake.Backpressure)
		require.NoError(t, err, "%v", hello)
		assert.True(t, backpressure.Boolean())
	}
}
