//fork:base <v2.7.0

package mongo

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// mongodb-handshake/tests, "Test 9: Handshake documents include backpressure: true".
func TestHandshakeProse9(t *testing.T) {
	l := scripted.Listen(t, scripted.OK(), nil)
	client := must(Connect(options.Client().ApplyURI(l.URI())))(t)
	require.NoError(t, client.Ping(bgCtx, nil))
	require.NoError(t, client.Disconnect(bgCtx))

	handshakes := l.Handshakes()
	assert.True(t, len(handshakes) >= 2, "got %d handshakes, want those of a monitor and a pool", len(handshakes))
	for _, hello := range handshakes {
		elements := must(hello.Elements())(t)
		var keys []string
		for _, element := range elements {
			keys = append(keys, element.Key())
		}
		assert.Equal(t, []string{"isMaster", "helloOk", "compression", "client", "backpressure", "maxTimeMS"}, keys, "no more and no less")
		assert.Equal(t, bson.RawValue{Type: bson.TypeBoolean, Value: []byte{1}}, hello.Lookup("backpressure"))
	}
}
