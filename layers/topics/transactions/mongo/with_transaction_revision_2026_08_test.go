//fork:base >=v2.7.0

package mongo

import "time"

// transactionBackoffs are the longest backoffs of WithTransaction, by transactions-convenient-api.md of 2026-08-13, "Sequence of
// actions": 5 ms * 1.5^transactionAttempt, at most 500 ms.
var transactionBackoffs = [...]time.Duration{
	7_500_000, 11_250_000, 16_875_000, 25_312_500, 37_968_750, 56_953_125, 85_429_687, 128_144_530, 192_216_795, 288_325_192, 432_487_788,
	500_000_000, 500_000_000,
}

// sumOfTransactionBackoffs is that of 13, by the prose test "Retry Backoff is Enforced".
const sumOfTransactionBackoffs = 2300 * time.Millisecond
