package retry

import (
	"math"
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	// The specification: "This results in delays of 100ms, 200ms, 400ms, 800ms, and 1600ms before accounting for jitter."
	want := []time.Duration{100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000}
	for i, ms := range want {
		attempt := i + 1
		if got := Backoff(attempt, 1); got != ms*time.Millisecond {
			t.Errorf("Backoff(%d, 1) = %v, want %v", attempt, got, ms*time.Millisecond)
		}
		if got := Backoff(attempt, 0); got != 0 {
			t.Errorf("Backoff(%d, 0) = %v, want 0", attempt, got)
		}
		if got, half := Backoff(attempt, 0.5), ms*time.Millisecond/2; got != half {
			t.Errorf("Backoff(%d, 0.5) = %v, want %v", attempt, got, half)
		}
	}
	if got := Backoff(math.MaxInt, 1); got != MaxBackoff {
		t.Errorf("Backoff(MaxInt, 1) = %v, want %v", got, MaxBackoff)
	}
}

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
		13: MaxTransactionBackoff, math.MaxInt: MaxTransactionBackoff,
	} {
		if got := TransactionBackoff(attempt, 1); got != want {
			t.Errorf("TransactionBackoff(%d, 1) = %v, want %v", attempt, got, want)
		}
		if got := TransactionBackoff(attempt, 0); got != 0 {
			t.Errorf("TransactionBackoff(%d, 0) = %v, want 0", attempt, got)
		}
	}
}

func FuzzBackoff(f *testing.F) {
	f.Add(1, 0.0)
	f.Add(64, 0.999)
	f.Add(1_000_000, 0.5)
	f.Fuzz(func(t *testing.T, attempt int, jitter float64) {
		if attempt < 1 || !(jitter >= 0 && jitter < 1) {
			return // outside of the domain
		}
		got := Backoff(attempt, jitter)
		if got < 0 || got > MaxBackoff {
			t.Fatalf("Backoff(%d, %v) = %v is outside of [0, %v]", attempt, jitter, got, MaxBackoff)
		}
		if attempt < math.MaxInt && Backoff(attempt+1, jitter) < got {
			t.Fatalf("Backoff(%d, %v) = %v, and less for the next attempt", attempt, jitter, got)
		}
	})
}
