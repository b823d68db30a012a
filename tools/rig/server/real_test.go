package server

import (
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// TestSecantusDB installs and starts the pinned server, whatever other server the
// machine has, and tries the fail points that the tests and the demo rely on.
func TestSecantusDB(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	server, err := Open(t.Context(), Config{
		Root:     "../../..",
		Getenv:   func(string) string { return "" },
		Choice:   "secantus",
		TempDir:  temp,
		Progress: t.Output(),
	})
	if errors.Is(err, ErrUnavailable) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	require.NoError(t, err)
	defer func() {
		require.NoError(t, server.Close())
		left, err := os.ReadDir(temp)
		require.NoError(t, err)
		assert.Empty(t, left, "left behind")
	}()
	assert.Equal(t, SecantusDB, server.Origin)
	assert.Regexp(t, `^\d+\.\d+\.\d+$`, server.Version)

	shop := connect(t, server.URI, "shop")
	others := connect(t, server.URI, "others")
	require.NoError(t, others.Database("admin").RunCommand(t.Context(), bson.D{
		{Key: "configureFailPoint", Value: "failCommand"},
		{Key: "mode", Value: bson.D{{Key: "times", Value: 2}}},
		{Key: "data", Value: bson.D{
			{Key: "failCommands", Value: bson.A{"insert"}},
			{Key: "appName", Value: "shop"},
			{Key: "errorCode", Value: 462},
			{Key: "errorLabels", Value: bson.A{"SystemOverloadedError", "RetryableError"}},
		}},
	}).Err())

	_, err = others.Database("test").Collection("orders").InsertOne(t.Context(), bson.D{})
	require.NoError(t, err, "the fail point is for another application")
	for range 2 {
		_, err := shop.Database("test").Collection("orders").InsertOne(t.Context(), bson.D{})
		var rejected mongo.ServerError
		require.ErrorAs(t, err, &rejected)
		assert.True(t, rejected.HasErrorCode(462))
		assert.True(t, rejected.HasErrorLabel("SystemOverloadedError"))
		assert.True(t, rejected.HasErrorLabel("RetryableError"))
	}
	_, err = shop.Database("test").Collection("orders").InsertOne(t.Context(), bson.D{})
	assert.NoError(t, err, "the fail point is used up")
}

func connect(t *testing.T, uri, appName string) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(uri).SetAppName(appName))
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Disconnect(t.Context()) })
	return client
}
