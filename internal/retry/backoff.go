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

// The constants of transactions-convenient-api.md, "Sequence of actions".
const (
	// BaseTransactionBackoff (BACKOFF_INITIAL) is the longest backoff before withTransaction's first retry; the revision of
	// 2026-08-13 begins with 1.5 times as long.
	BaseTransactionBackoff = 5 * time.Millisecond

	// MaxTransactionBackoff (BACKOFF_MAX) bounds every backoff of withTransaction.
	MaxTransactionBackoff = 500 * time.Millisecond
)

// TransactionBackoff returns jitter * min(MaxTransactionBackoff, BaseTransactionBackoff * 1.5^(attempt-1)), the wait before
// withTransaction runs the transaction again. attempt is at least 1 and counts failed attempts; jitter is in [0, 1).
func TransactionBackoff(attempt int, jitter float64) time.Duration {
	longest := BaseTransactionBackoff
	for i := 1; i < attempt && longest < MaxTransactionBackoff; i++ {
		longest += longest / 2
	}
	if longest > MaxTransactionBackoff {
		longest = MaxTransactionBackoff
	}
	return time.Duration(jitter * float64(longest))
}
