package retry

import "time"

// Backoff returns jitter * min(MaxBackoff, first * 2^(attempt-1)). attempt is at least 1 and counts all failed attempts of the
// command, whether from overload or not; jitter is in [0, 1).
func Backoff(first time.Duration, attempt int, jitter float64) time.Duration {
	longest := first
	// Doubling stops at the bound, so no attempt number can overflow.
	for i := 1; i < attempt && longest < MaxBackoff; i++ {
		longest *= 2
	}
	if longest > MaxBackoff {
		longest = MaxBackoff
	}
	return time.Duration(jitter * float64(longest))
}
