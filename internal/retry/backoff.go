package retry

import "time"

// Backoff returns jitter * min(MaxBackoff, BaseBackoff * 2^(attempt-1)). The attempt counts all attempts of the command
// that have failed, whether from overload or not, and is at least 1; jitter is in [0, 1).
func Backoff(attempt int, jitter float64) time.Duration {
	longest := BaseBackoff
	// Doubling stops at the bound, so that no attempt number can overflow.
	for i := 1; i < attempt && longest < MaxBackoff; i++ {
		longest *= 2
	}
	if longest > MaxBackoff {
		longest = MaxBackoff
	}
	return time.Duration(jitter * float64(longest))
}
