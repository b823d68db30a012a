package retry

import (
	"math"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
)

func TestTransactionBackoff(t *testing.T) {
	const ms = time.Millisecond
	for attempt, want := range map[int]time.Duration{
		1: 5 * ms, 2: 7500 * time.Microsecond, 3: 11250 * time.Microsecond, 12: 432487788, 13: 500 * ms, math.MaxInt: 500 * ms,
	} {
		assert.Equal(t, want, TransactionBackoff(attempt, 1), "attempt %d", attempt)
		assert.Equal(t, time.Duration(0), TransactionBackoff(attempt, 0), "attempt %d", attempt)
	}
}
