//fork:base <v2.7.0

package mongo

import "time"

// firstTransactionBackoff is the longest first backoff of WithTransaction, by transactions-convenient-api.md of 2026-03-12, "Sequence of
// actions": 5 ms * 1.5^(transactionAttempt-1). The next is half as long again.
const firstTransactionBackoff = 5 * time.Millisecond

// sumOfTransactionBackoffs is that of 13, by the prose test "Retry Backoff is Enforced".
const sumOfTransactionBackoffs = 1800 * time.Millisecond
