package mongo_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

var rejection = bson.D{
	{Key: "ok", Value: 0}, {Key: "code", Value: 462}, {Key: "errorLabels", Value: bson.A{"SystemOverloadedError", "RetryableError"}},
}

func TestClientThrottles(t *testing.T) {
	const times = 200
	l := scripted.Listen(t, rejection, nil)
	client, err := mongo.Connect(options.Client().SetAdaptiveThrottling(true).ApplyURI(l.URI()).SetRetryReads(false))
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	refused := 0
	for i := 0; i < times; i++ {
		err := client.Database("db").Collection("coll").FindOne(context.Background(), bson.D{}).Err()
		commandErr, ok := err.(mongo.CommandError)
		require.True(t, ok, "got %T (%v)", err, err)
		assert.True(t, commandErr.HasErrorLabel("SystemOverloadedError") && commandErr.HasErrorLabel("RetryableError"))
		if commandErr.Code == 462 {
			continue
		}
		refused++
		assert.True(t, commandErr.HasErrorLabel("NoWritesPerformed"))
		assert.True(t, strings.HasPrefix(err.Error(), "(Throttled) withheld from 127.0.0.1:"), "got %q", err)
		assert.False(t, mongo.IsTimeout(err) || mongo.IsNetworkError(err))
		var retries *mongo.RetryError
		require.True(t, errors.As(err, &retries))
		assert.Equal(t, &mongo.RetryError{Attempts: 1, Throttled: 1, Reason: event.RetryReasonOptionOff}, retries)
	}
	// Six are sent before the client knows enough, and none of the others unless the machine is slow: then one in each second.
	sent := int(l.Commands.Load())
	assert.True(t, sent >= 6 && sent < 50, "%d of %d were sent", sent, times)
	assert.Equal(t, times, sent+refused)
	probabilities := client.ThrottleProbabilities()
	require.Len(t, probabilities, 1)
	for server, probability := range probabilities {
		assert.True(t, strings.HasSuffix(l.URI(), server+"/?replicaSet=rs"), server)
		assert.True(t, probability > 0.9 && probability < 1, "got %v", probability)
	}
}
