package mongo

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
)

func TestRetryTokens(t *testing.T) {
	ctx := context.Background()
	t.Run("with adaptiveRetries", func(t *testing.T) {
		s := scripted.New(t, scripted.Repeat(6, scripted.Overloaded())...)
		s.Policy.Bucket = retry.NewTokenBucket()
		client := connectScript(t, s)
		tokens, ok := client.RetryTokens()
		assert.True(t, ok)
		assert.Equal(t, 1000.0, tokens)

		require.Error(t, client.Database("db").Collection("coll").FindOne(ctx, bson.D{}).Err())
		tokens, ok = client.RetryTokens()
		assert.True(t, ok)
		assert.Equal(t, 995.0, tokens)
	})
	t.Run("without", func(t *testing.T) {
		_, ok := connectScript(t, scripted.New(t)).RetryTokens()
		assert.False(t, ok)
	})
	t.Run("a deployment without a policy", func(t *testing.T) {
		s := scripted.New(t)
		s.Policy = nil
		_, ok := connectScript(t, s).RetryTokens()
		assert.False(t, ok)
	})
}
