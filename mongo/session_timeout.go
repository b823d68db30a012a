//fork:base <v2.9.0

package mongo

import "context"

// The context's deadline or, if it has none, the client's Timeout is for the whole call.
//
//fork:wrap the client's Timeout did not apply to it (client-side-operations-timeout.md, "Sessions")
func (s *Session) AbortTransaction(ctx context.Context) error {
	ctx, cancel := withTimeout(ctx, s.client.timeout)
	defer cancel()
	return s.upstreamAbortTransaction(ctx)
}
