package driver

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// selectServer selects a server for an attempt.
//
//fork:wrap the result of a commit that no server is found for is unknown
//fork:watch Operation.getServerAndConnection
func (op Operation) selectServer(
	ctx context.Context,
	requestID int32,
	deprioritized []description.Server,
) (Server, error) {
	server, err := op.upstreamSelectServer(ctx, requestID, deprioritized)
	return server, op.labelSelection(err)
}

// classifyCheckout determines whether the Retryable Reads or Retryable Writes specification covers the failure to select a server
// or to get a connection to it, and labels its error as they and the Transactions specification say.
func (ex *operationRun) classifyCheckout(fail *failedAttempt) {
	retryable := ex.retryableCheckout(fail.err)
	if retryable || (isEstablishmentError(fail.err) && hasLabel(fail.err, NetworkError)) {
		fail.err = ex.labelTransaction(ex.labelUnsentWrite(fail.err))
	}
	// A transaction that has begun may be pinned to the lost server.
	fail.readWrite = retryable && (!ex.inTransaction() || ex.startsTxn)
	fail.readWriteOff = fail.readWrite && !ex.op.retryEnabled() && !ex.op.IsOutputAggregate &&
		(ex.op.Type == Read || ex.op.Type == Write)
}

// labelUnsentWrite adds the label RetryableWriteError to the error of a write for which there was no connection, because it could not be
// established or the pool was cleared, if retryWrites is on (retryable-writes.md, "RetryableWriteError Labels"). As with all errors,
// commands of a transaction other than commit and abort do not get it.
func (ex *operationRun) labelUnsentWrite(err error) error {
	if ex.op.Type != Write || !ex.op.retryEnabled() || ex.inTransaction() {
		return err
	}
	return withLabel(err, RetryableWriteError)
}

// labelSelection adds the label UnknownTransactionCommitResult to the error of a commit that waited for a server in vain
// (transactions.md, "UnknownTransactionCommitResult"). Immediate errors, such as that of a disconnected client, do not get it: a
// caller that commits until the result is known would not stop.
func (op Operation) labelSelection(err error) error {
	if op.Client == nil || !op.Client.Committing || !isContextError(err) {
		return err
	}
	return withLabel(err, UnknownTransactionCommitResult)
}

// retryableCheckout reports whether no command was sent because the pool was cleared, or because the handshake of a new
// connection, including the authentication step, met a retryable error (retryable-reads.md and retryable-writes.md, "Retryable
// Error").
func (ex *operationRun) retryableCheckout(err error) bool {
	if isEstablishmentError(err) {
		return ex.retryableHandshake(err)
	}
	var poolErr RetryablePoolError
	return errors.As(err, &poolErr) && poolErr.Retryable()
}

// retryableHandshake reports whether a handshake command failed with an error that is retryable for the command that needed the
// connection. For writes, the server says so by a label.
func (ex *operationRun) retryableHandshake(err error) bool {
	var handshakeErr Error
	if !errors.As(establishmentError(err), &handshakeErr) {
		return false
	}
	if ex.op.Type == Write {
		return handshakeErr.NetworkError() || handshakeErr.HasErrorLabel(RetryableWriteError)
	}
	return handshakeErr.RetryableRead()
}

// establishmentError returns the connectionError that the error is or wraps, or nil if it is not about a connection that could not
// be established.
func establishmentError(err error) error {
	var establishment connectionError
	if !errors.As(err, &establishment) || establishment.ServerAddress() == "" {
		return nil
	}
	return establishment
}

func isEstablishmentError(err error) bool { return establishmentError(err) != nil }
