//fork:base <v2.7.0

package mongo

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

// transactionBackoff returns the backoff of WithTransaction after the given number of failed attempts.
func transactionBackoff(failed int, jitter float64) time.Duration {
	return retry.TransactionBackoff(failed, jitter)
}
