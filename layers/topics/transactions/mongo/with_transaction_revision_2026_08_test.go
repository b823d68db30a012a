//fork:base >=v2.7.0

package mongo

import "time"

// firstTransactionBackoff is the longest first backoff of WithTransaction, by transactions-convenient-api.md of 2026-08-13, "Sequence of
// actions": 5 ms * 1.5^transactionAttempt. The next is half as long again.
const firstTransactionBackoff = 7500 * time.Microsecond

// sumOfTransactionBackoffs is that of 13, by the prose test "Retry Backoff is Enforced".
const sumOfTransactionBackoffs = 2300 * time.Millisecond
