package mongo

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/drivertest"
)

// A stream that would wait on the server for as long as the client's Timeout sends no getMore.
func TestMaxAwaitTimeIsLessThanTimeout(t *testing.T) {
	const open = int64(7)
	mock := drivertest.NewMockDeployment(bson.D{{Key: "ok", Value: 1}, {Key: "cursor", Value: bson.D{
		{Key: "id", Value: open}, {Key: "ns", Value: "db.coll"}, {Key: "firstBatch", Value: bson.A{}},
	}}})
	opts := options.Client().SetTimeout(time.Minute)
	opts.Deployment = mock
	client, err := Connect(opts)
	require.NoError(t, err)
	stream, err := client.Database("db").Collection("coll").Watch(context.Background(), Pipeline{},
		options.ChangeStream().SetMaxAwaitTime(time.Minute))
	require.NoError(t, err)
	assert.False(t, stream.Next(context.Background()))
	assert.ErrorContains(t, stream.Err(), "MaxAwaitTime must be less than the operation timeout")
}
