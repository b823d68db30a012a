//fork:base <v2.9.0

package mongo

import "context"

// The context's deadline or, if it has none, the client's Timeout ends the backoffs.
//
//fork:wrap the client's Timeout does not apply to it (client-side-operations-timeout.md, "Sessions")
func (s *Session) AbortTransaction(ctx context.Context) error {
	return s.upstreamAbortTransaction(limitBackoffs(ctx, s.client.timeout))
}
