//fork:base >=v2.7.0

package mongo

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

//fork:remove backoffInitial internal/retry has the numbers
//fork:remove backoffMax internal/retry has the numbers

// transactionBackoff returns how long WithTransaction waits after the given number of failed attempts. This revision's exponent
// is that number; in the revision of 2026-03-12 it is one less.
func transactionBackoff(failed int, jitter float64) time.Duration {
	return retry.TransactionBackoff(failed+1, jitter)
}
