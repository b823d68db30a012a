//fork:base <v2.7.0

package operation

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// TestHandshakeBackpressure is about both kinds of hello: heartbeats have no use for the field.
func TestHandshakeBackpressure(t *testing.T) {
	for want, command := range map[bool]func([]byte, description.SelectedServer) ([]byte, error){
		true: NewHello().handshakeCommand, false: NewHello().command,
	} {
		elements, err := command(nil, description.SelectedServer{})
		require.NoError(t, err)
		got, ok := bsoncore.Document(bsoncore.BuildDocument(nil, elements)).Lookup("backpressure").BooleanOK()
		assert.Equal(t, []bool{want, want}, []bool{got, ok})
	}
}
