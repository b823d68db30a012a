package mongo

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// client-backpressure/tests, "Test 2: Token Bucket Capacity is Enforced".
func TestBackpressureProse2(t *testing.T) {
	l := scripted.Listen(t, scripted.OK(), nil)
	client, err := Connect(options.Client().ApplyURI(l.URI()).SetAdaptiveRetries(true))
	require.NoError(t, err)
	defer func() { _ = client.Disconnect(context.Background()) }()

	bucket := backpressure.PolicyOf(client.deployment).Bucket
	assert.Equal(t, 1000.0, bucket.Tokens())
	require.NoError(t, client.Ping(context.Background(), nil))
	assert.Equal(t, 1000.0, bucket.Tokens())
}

// client-backpressure/tests, "Test 4: Adaptive Retries are Limited by Token Bucket Tokens".
func TestBackpressureProse4(t *testing.T) {
	s := scripted.New(t)
	s.Policy.Bucket = retry.NewTokenBucket()
	client := connectScript(t, s)
	for i := 0; i < 199; i++ {
		s.Replies = scripted.Repeat(6, scripted.Overloaded())
		assertOverloadError(t, findOne(s, client))
	}
	// A command whose context is cancelled during its first backoff has taken one token.
	for i := 0; i < 3; i++ {
		ctx, cancel := context.WithCancel(context.Background())
		s.Replies, s.OnSleep = []any{scripted.Overloaded()}, cancel
		_ = client.Ping(ctx, nil)
	}
	s.OnSleep, s.Sent = nil, nil
	require.Equal(t, 2.0, s.Policy.Bucket.Tokens())

	s.Replies = scripted.Repeat(3, scripted.Overloaded())
	assertOverloadError(t, findOne(s, client))
	assert.Len(t, s.Sent, 3)
}

// spentBucket returns a token bucket without tokens.
func spentBucket(t *testing.T) *retry.TokenBucket {
	t.Helper()

	bucket := retry.NewTokenBucket()
	policy := retry.Policy{RetryReads: true, MaxRetries: retry.Unlimited, Jitter: func() float64 { return 0 }, Bucket: bucket}
	command := policy.Start(retry.Read, retry.Never)
	for again := true; again; {
		again = command.Failed(retry.Failure{Cause: retry.Overload, Left: retry.NoDeadline}).Retry
	}
	require.Equal(t, 0.0, bucket.Tokens())
	return bucket
}

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
		tokens, ok := connectScript(t, scripted.New(t)).RetryTokens()
		assert.False(t, ok)
		assert.Equal(t, 0.0, tokens)
	})
	t.Run("a deployment without a policy", func(t *testing.T) {
		s := scripted.New(t)
		s.Policy = nil
		_, ok := connectScript(t, s).RetryTokens()
		assert.False(t, ok)
	})
}
