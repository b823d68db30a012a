package mongo

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/internal/throttle"
)

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
