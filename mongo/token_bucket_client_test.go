//fork:base >=v2.7.0

package mongo_test

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

func TestClientTokenBucket(t *testing.T) {
	const tokens, retries = 1000, 2
	l := scripted.Listen(t, overloaded, nil)
	client, sent := connect(t, l.URI()+"&adaptiveRetries=true&adaptiveThrottling=false", options.Client())
	find := func() {
		require.Error(t, client.Database("db").Collection("coll").FindOne(context.Background(), bson.D{}).Err())
	}

	for i := 0; i < tokens/retries; i++ {
		find()
	}
	require.Equal(t, tokens/retries+tokens, len(sent()))
	find()
	assert.Equal(t, tokens/retries+tokens+1, len(sent()), "no token is left")
}
