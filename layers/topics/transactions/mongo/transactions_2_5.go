//fork:base <v2.10.0

package mongo

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

// transactionBackoff returns the backoff of WithTransaction after the given number of failed attempts. The exponent is one less.
func transactionBackoff(failed int, jitter float64) time.Duration {
	return retry.TransactionBackoff(failed, jitter)
}

// The context's deadline or, if it has none, the client's Timeout is for the whole call. If the context has ended, the transaction is
// aborted nevertheless, for which the call takes at most 2 seconds.
//
//fork:wrap the client's Timeout did not apply to it (client-side-operations-timeout.md, "Sessions"); its locks would stay
func (s *Session) AbortTransaction(ctx context.Context) error {
	ctx, cancel := timeToAbort(ctx)
	defer cancel()
	ctx, end := withTimeout(ctx, s.client.timeout) // nothing, if timeToAbort has set a deadline
	defer end()
	return s.upstreamAbortTransaction(ctx)
}
