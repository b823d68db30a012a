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
		if got := Backoff(BaseBackoff, attempt, 1); got != ms*time.Millisecond {
			t.Errorf("Backoff(%v, %d, 1) = %v, want %v", BaseBackoff, attempt, got, ms*time.Millisecond)
		}
		if got := Backoff(BaseBackoff, attempt, 0); got != 0 {
			t.Errorf("Backoff(%v, %d, 0) = %v, want 0", BaseBackoff, attempt, got)
		}
		if got, half := Backoff(BaseBackoff, attempt, 0.5), ms*time.Millisecond/2; got != half {
			t.Errorf("Backoff(%v, %d, 0.5) = %v, want %v", BaseBackoff, attempt, got, half)
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
