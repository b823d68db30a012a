package backpressure

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
)

// TestSystemClockWakesUp is about a backoff that nobody waits for any more, whichever context says so.
func TestSystemClockWakesUp(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	live := context.Background()
	for name, contexts := range map[string][2]context.Context{
		"its own": {ended, nil}, "the command's": {ended, live}, "the caller's": {live, ended},
	} {
		assert.Equal(t, context.Canceled, SystemClock{}.Sleep(contexts[0], contexts[1], time.Hour), name)
	}
	assert.NoError(t, SystemClock{}.Sleep(live, nil, 0))
}
