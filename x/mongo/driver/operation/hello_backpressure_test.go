//fork:base <v2.7.0

package operation

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

func TestHandshakeBackpressure(t *testing.T) {
	build := func(command func([]byte, description.SelectedServer) ([]byte, error)) (elements []bson.RawElement, keys []string) {
		idx, doc := bsoncore.AppendDocumentStart(nil)
		doc, err := command(doc, description.SelectedServer{})
		require.NoError(t, err)
		doc, err = bsoncore.AppendDocumentEnd(doc, idx)
		require.NoError(t, err)
		elements, err = bson.Raw(doc).Elements()
		require.NoError(t, err)
		for _, element := range elements {
			keys = append(keys, element.Key())
		}
		return elements, keys
	}
	handshake, keys := build(NewHello().handshakeCommand)
	assert.Equal(t, []string{"isMaster", "helloOk", "compression", "client", "backpressure"}, keys)
	assert.Equal(t, `{"backpressure": true}`, bson.Raw(bsoncore.BuildDocument(nil, handshake[4])).String())
	_, keys = build(NewHello().command)
	assert.Equal(t, []string{"isMaster", "helloOk"}, keys, "heartbeats have no use for it")
}
