package retry

import (
	"math"
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	// The specification: "This results in delays of 100ms, 200ms, 400ms, 800ms, and 1600ms before accounting for jitter."
	for i, ms := range []time.Duration{100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000} {
		for jitter, part := range map[float64]time.Duration{0: 0, 0.5: time.Millisecond / 2, 1: time.Millisecond} {
			if got := Backoff(BaseBackoff, i+1, jitter); got != ms*part {
				t.Errorf("attempt %d, jitter %v: got %v, want %v", i+1, jitter, got, ms*part)
			}
		}
	}
	if got := Backoff(BaseBackoff, math.MaxInt, 1); got != 10*time.Second {
		t.Errorf("Backoff(MaxInt, 1) = %v, want 10s", got)
	}
}

func FuzzBackoff(f *testing.F) {
	f.Add(int64(BaseBackoff), 1, 0.0)
	f.Add(int64(1), 64, 0.999)
	f.Add(int64(math.MaxInt64), 1_000_000, 0.5)
	f.Fuzz(func(t *testing.T, ns int64, attempt int, jitter float64) {
		if ns <= 0 || attempt < 1 || !(jitter >= 0 && jitter < 1) {
			return // outside of the domain
		}
		first := time.Duration(ns)
		got := Backoff(first, attempt, jitter)
		if got < 0 || got > 10*time.Second {
			t.Fatalf("Backoff(%v, %d, %v) = %v is outside of [0, 10s]", first, attempt, jitter, got)
		}
		if attempt < math.MaxInt && Backoff(first, attempt+1, jitter) < got {
			t.Fatalf("Backoff(%v, %d, %v) = %v, and less for the next attempt", first, attempt, jitter, got)
		}
	})
}
