package mongo

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// The context's deadline or, if it has none, the client's Timeout ends the backoffs.
//
//fork:wrap the client's Timeout does not apply to it (client-side-operations-timeout.md, "Sessions"); EndSession aborted a transaction that may be committed
func (s *Session) CommitTransaction(ctx context.Context) error {
	err := s.upstreamCommitTransaction(limitBackoffs(ctx, s.client.timeout))
	if s.mayBeCommitted(err) {
		s.clientSession.Committing = false
		s.clientSession.UpdateCommitTransactionWriteConcern()
		_ = s.clientSession.CommitTransaction() // sets the state
	}
	return err
}

// mayBeCommitted reports whether there was no time to find out whether a commit took place. After a timeout the transaction stays in
// progress; here it may only be committed again (transactions.md, "UnknownTransactionCommitResult").
func (s *Session) mayBeCommitted(err error) bool {
	var interrupted backpressure.Interruption
	return s.clientSession.Committing && errors.As(err, &interrupted) && errorHasLabel(err, driver.UnknownTransactionCommitResult)
}
