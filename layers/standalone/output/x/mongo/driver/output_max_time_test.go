package driver

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

// An aggregate that writes opens no cursor whose life maxTimeMS would limit.
func TestMaxTimeOfAnOutputStage(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	for _, writes := range []bool{false, true} {
		maxTimeMS, err := Operation{OmitMaxTimeMS: true, IsOutputAggregate: writes}.calculateMaxTimeMS(ctx, 0, "")
		assert.NoError(t, err)
		assert.Equal(t, writes, maxTimeMS > 0)
	}
}

// Servers reject a command with two.
func TestMaxTimeOfAnApplicationsOwn(t *testing.T) {
	server := description.SelectedServer{Server: description.Server{WireVersion: &description.VersionRange{Max: 25}}}
	op := Operation{IsOutputAggregate: true, Database: "db"}
	for _, own := range []bool{false, true} {
		command := func(dst []byte, _ description.SelectedServer) ([]byte, error) {
			if own {
				dst = bsoncore.AppendInt32Element(dst, "maxTimeMS", 5000)
			}
			return dst, nil
		}
		conn := mnet.NewConnection(&mockConnection{})
		_, sent, err := op.createMsgWireMessage(context.Background(), 7, nil, server, conn, command)
		assert.NoError(t, err)
		fields, err := bsoncore.Document(sent).Elements()
		assert.NoError(t, err)
		times := 0
		for _, field := range fields {
			if field.Key() == "maxTimeMS" {
				times++
			}
		}
		assert.Equal(t, 1, times)
	}
}
