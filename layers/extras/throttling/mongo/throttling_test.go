package mongo

import (
	"context"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/internal/throttle"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
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
	assert.Equal(t, []Criticality{Normal, Normal}, []Criticality{CriticalityFromContext(parent), 0})
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

// TestClientThrottles is about a client with adaptiveThrottling whose server rejects everything.
func TestClientThrottles(t *testing.T) {
	const times = 200
	l := scripted.Listen(t, scripted.Overloaded(), nil)
	client := must(Connect(options.Client().SetAdaptiveThrottling(true).ApplyURI(l.URI()).SetRetryReads(false)))(t)
	t.Cleanup(func() { _ = client.Disconnect(bgCtx) })
	refused := 0
	for i := 0; i < times; i++ {
		err := client.Database("db").Collection("coll").FindOne(bgCtx, bson.D{}).Err()
		commandErr := scripted.As[CommandError](t, err)
		assert.True(t, commandErr.HasErrorLabel("SystemOverloadedError") && commandErr.HasErrorLabel("RetryableError"))
		if commandErr.Code == 462 {
			continue
		}
		refused++
		assert.True(t, commandErr.HasErrorLabel("NoWritesPerformed"))
		assert.True(t, strings.HasPrefix(err.Error(), "(Throttled) withheld from 127.0.0.1:"), "got %q", err)
		assert.False(t, IsTimeout(err) || IsNetworkError(err))
		want := &RetryError{Attempts: 1, Throttled: 1, Reason: event.RetryReasonOptionOff}
		assert.Equal(t, want, scripted.As[*RetryError](t, err))
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
