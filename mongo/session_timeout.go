//fork:base <v2.9.0

package mongo

import "context"

// CommitTransaction commits the session's transaction. It fails if there is none, or if it was aborted. The context's deadline
// or, if it has none, the client's Timeout ends the backoffs.
//
//fork:wrap the client's Timeout does not apply to it (client-side-operations-timeout.md, "Sessions")
func (s *Session) CommitTransaction(ctx context.Context) error {
	ctx, cancel := withPatience(ctx, nil, s.client.timeout)
	defer cancel()
	return s.upstreamCommitTransaction(ctx)
}

// AbortTransaction aborts the session's transaction. It fails if there is none, or if it was committed or aborted. The
// context's deadline or, if it has none, the client's Timeout ends the backoffs.
//
//fork:wrap the client's Timeout does not apply to it (client-side-operations-timeout.md, "Sessions")
func (s *Session) AbortTransaction(ctx context.Context) error {
	ctx, cancel := withPatience(ctx, nil, s.client.timeout)
	defer cancel()
	return s.upstreamAbortTransaction(ctx)
}
