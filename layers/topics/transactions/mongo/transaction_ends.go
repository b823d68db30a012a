package mongo

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// The context's deadline or, if it has none, the client's Timeout is for the whole call.
//
// A commit whose result is unknown may have taken place, unless its time was over before it was sent: it can only be sent again, then
// with the write concern majority (transactions.md, "UnknownTransactionCommitResult" and "Majority write concern is used when retrying
// commitTransaction").
//
//fork:wrap the client's Timeout did not apply to it (client-side-operations-timeout.md, "Sessions"); after a timeout the transaction stayed in progress, so that EndSession aborted one that may be committed
func (s *Session) CommitTransaction(ctx context.Context) error {
	ctx, cancel := withTimeout(ctx, s.client.timeout)
	defer cancel()
	repeats := s.clientSession.TransactionCommitted()
	retErr := s.upstreamCommitTransaction(ctx)
	s.clientSession.Committing = false // which it still is after a timeout
	switch unknown := errorHasLabel(retErr, driver.UnknownTransactionCommitResult); {
	case unknown && !errors.Is(retErr, backpressure.ErrNeverSent):
		s.clientSession.UpdateCommitTransactionWriteConcern()
		_ = s.clientSession.CommitTransaction() // sets the state
	case !unknown && repeats:
		retErr = ofLaterCommand(retErr) // the commit before may have taken place
	}
	return retErr
}

// timeToAbort returns a context for aborting a transaction, whose locks would stay if it was not sent for a context that has ended.
func timeToAbort(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx == nil || ctx.Err() == nil { // nil, as all methods of package mongo permit
		return ctx, func() {}
	}
	return backpressure.ForCleanUp(ctx)
}
