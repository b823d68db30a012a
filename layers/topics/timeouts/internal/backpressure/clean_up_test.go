package backpressure

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
)

// TestForCleanUpKeepsValues is about the context of a command whose caller has gone.
func TestForCleanUpKeepsValues(t *testing.T) {
	type key struct{}
	caller, cancel := context.WithCancel(context.WithValue(context.Background(), key{}, "value"))
	cancel()
	for want, of := range map[any]context.Context{"value": caller, nil: nil} {
		ctx, cancel := ForCleanUp(of)
		defer cancel()
		assert.Equal(t, want, ctx.Value(key{}))
		assert.Nil(t, ctx.Err())
	}
}
