package retry

import (
	"math"
	"testing"
	"time"
)

func TestTransactionBackoff(t *testing.T) {
	var sum time.Duration
	for attempt := 1; attempt <= 13; attempt++ {
		sum += TransactionBackoff(attempt, 1)
	}
	// The prose test "Retry Backoff is Enforced": "The sum of 13 backoffs is roughly 1.8 seconds."
	if sum < 1700*time.Millisecond || sum > 1900*time.Millisecond {
		t.Errorf("the sum of 13 backoffs is %v, want roughly 1.8s", sum)
	}

	for attempt, want := range map[int]time.Duration{
		1: 5 * time.Millisecond, 2: 7500 * time.Microsecond, 3: 11250 * time.Microsecond,
		12: 432487788, 13: 500 * time.Millisecond, math.MaxInt: 500 * time.Millisecond,
	} {
		if got := TransactionBackoff(attempt, 1); got != want {
			t.Errorf("TransactionBackoff(%d, 1) = %v, want %v", attempt, got, want)
		}
		if got := TransactionBackoff(attempt, 0); got != 0 {
			t.Errorf("TransactionBackoff(%d, 0) = %v, want 0", attempt, got)
		}
	}
}
