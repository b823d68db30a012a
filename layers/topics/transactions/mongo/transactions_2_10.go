//fork:base >=v2.10.0

package mongo

import (
	"context"
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

// If the context has ended, the transaction is aborted nevertheless, for which the call takes at most 2 seconds.
//
//fork:wrap without a command the transaction's locks stay
func (s *Session) AbortTransaction(ctx context.Context) error {
	ctx, cancel := timeToAbort(ctx)
	defer cancel()
	return s.upstreamAbortTransaction(ctx)
}
