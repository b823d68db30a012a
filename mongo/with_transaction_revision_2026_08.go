//fork:base >=v2.7.0

package mongo

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

// transactionBackoff returns what WithTransaction waits for after the given number of attempts have failed. The exponent of
// this revision is that number; the one of 2026-03-12 has one less.
func transactionBackoff(failed int, jitter float64) time.Duration {
	return retry.TransactionBackoff(failed+1, jitter)
}
