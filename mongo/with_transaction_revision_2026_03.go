//fork:base <v2.7.0

package mongo

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

// transactionBackoff returns what WithTransaction waits for after the given number of attempts have failed.
func transactionBackoff(failed int, jitter float64) time.Duration {
	return retry.TransactionBackoff(failed, jitter)
}
