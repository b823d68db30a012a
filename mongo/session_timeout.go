//fork:base <v2.9.0

package mongo

import "context"

// The context's deadline or, if it has none, the client's Timeout ends the backoffs. If the context has ended, the transaction is aborted
// nevertheless, for which the call takes at most 2 seconds.
//
//fork:wrap the client's Timeout does not apply to it (client-side-operations-timeout.md, "Sessions"); its locks would stay
func (s *Session) AbortTransaction(ctx context.Context) error {
	ctx, cancel := timeToAbort(ctx)
	defer cancel()
	return s.upstreamAbortTransaction(limitBackoffs(ctx, s.client.timeout))
}
