//fork:base <v2.7.0

package operation

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/handshake"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

func TestHandshakeBackpressure(t *testing.T) {
	build := func(command func([]byte, description.SelectedServer) ([]byte, error)) bson.Raw {
		idx, doc := bsoncore.AppendDocumentStart(nil)
		doc, err := command(doc, description.SelectedServer{})
		require.NoError(t, err)
		doc, err = bsoncore.AppendDocumentEnd(doc, idx)
		require.NoError(t, err)
		require.NoError(t, bson.Raw(doc).Validate())
		return doc
	}
	hello := NewHello()

	backpressure, err := build(hello.handshakeCommand).LookupErr(handshake.Backpressure)
	require.NoError(t, err)
	assert.True(t, backpressure.Boolean())

	_, err = build(hello.command).LookupErr(handshake.Backpressure)
	assert.Error(t, err, "heartbeats have no use for it")
}
