//fork:base >=v2.7.0

package mongo

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

//fork:remove backoffInitial internal/retry has the numbers
//fork:remove backoffMax internal/retry has the numbers

// transactionBackoff returns the backoff of WithTransaction after the given number of failed attempts. The exponent is that
// number (transactions-convenient-api.md, "Sequence of actions").
func transactionBackoff(failed int, jitter float64) time.Duration {
	return retry.TransactionBackoff(failed+1, jitter)
}
