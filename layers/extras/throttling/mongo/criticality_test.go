package mongo

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/internal/throttle"
)

func TestCriticalityContext(t *testing.T) {
	type key struct{}
	parent := context.WithValue(bgCtx, key{}, "kept")
	for given, want := range map[Criticality]Criticality{
		Sheddable: Sheddable, Normal: Normal, Critical: Critical, -2: Normal, 2: Normal, 127: Normal,
	} {
		ctx := NewCriticalityContext(parent, given)
		assert.Equal(t, want, CriticalityFromContext(ctx))
		assert.Equal(t, "kept", ctx.Value(key{}))
		assert.Equal(t, Sheddable, CriticalityFromContext(NewCriticalityContext(ctx, Sheddable)), "the last one counts")
	}
	assert.Equal(t, Normal, CriticalityFromContext(parent))
	var zero Criticality
	assert.Equal(t, Normal, zero)
	assert.True(t, Sheddable < Normal && Normal < Critical)
}

// TestCriticalityAndTokens: what is sheddable is not retried any more when half of the tokens are spent.
func TestCriticalityAndTokens(t *testing.T) {
	s := scripted.New(t)
	s.Policy.Bucket = retry.NewTokenBucket()
	s.Rest = scripted.Overloaded()
	coll := scriptColl(t, s)
	retries := func(class Criticality, operations int) int {
		sent := len(s.Sent)
		for i := 0; i < operations; i++ {
			require.Error(t, insertAny(NewCriticalityContext(bgCtx, class), coll))
		}
		return len(s.Sent) - sent - operations
	}
	assert.Equal(t, 500, retries(Sheddable, 200))
	assert.Equal(t, 250, retries(Normal, 50))
	assert.Equal(t, 0, retries(Sheddable, 1))
	assert.Equal(t, 250, retries(Critical, 100))
}

// TestBackpressureProse1OnOneClient is client-backpressure/tests, "Test 1: Operation Retry Uses Exponential Backoff", by its letter: the
// two inserts are one client's, which withholds retries in an overload that lasts.
func TestBackpressureProse1OnOneClient(t *testing.T) {
	s := scripted.New(t, scripted.Repeat(12, scripted.Overloaded())...)
	s.Policy.Throttling = throttle.Retries
	coll := scriptColl(t, s)
	for i, jitter := range []float64{0, 1} {
		s.Policy.Jitter = func() float64 { return jitter }
		_ = insertAny(bgCtx, coll)
		assert.Len(t, s.Sent, 6*(i+1))
	}
}
