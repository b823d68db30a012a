package retry

import "time"

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
