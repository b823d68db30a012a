//fork:base >=v2.9.0

package mongo

import "context"

// If the context has ended, the transaction is aborted nevertheless, for which the call takes at most 2 seconds.
//
//fork:wrap without a command the transaction's locks stay
func (s *Session) AbortTransaction(ctx context.Context) error {
	ctx, cancel := timeToAbort(ctx)
	defer cancel()
	return s.upstreamAbortTransaction(ctx)
}
