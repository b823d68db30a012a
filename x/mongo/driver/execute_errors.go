package driver

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// attemptErrors holds the errors of a command's failed attempts that may still be returned.
type attemptErrors struct {
	kind      retry.Kind
	inTxn     bool // the command is one of a transaction, other than its commit or abort
	first     error
	attempted error // the last for which attempted is true
}

// record records the failure of an attempt that is followed by another.
func (errs *attemptErrors) record(fail *failedAttempt) {
	if fail.stage == throttled {
		// The server's word counts more than the client's own decision.
		return
	}
	if errs.first == nil {
		errs.first = fail.err
	}
	if fail.attempted(errs.kind) {
		errs.attempted = fail.err
	}
}

// toReturn returns the error of a command whose last attempt has failed: the last error that shows that an attempt was made, or
// the first error if there is none. For writes, and commands that may be writes, it is the last error after which the server may
// have executed the command (retryable-reads.md, "If a retry attempt fails"; retryable-writes.md, "Executing Retryable Write
// Commands").
//
// If the last attempt says that the transaction has to run again, so does the returned error (transactions.md,
// "TransientTransactionError").
func (errs *attemptErrors) toReturn(last *failedAttempt) error {
	err := errs.relevant(last)
	if errs.inTxn && last.hasErrorLabel(TransientTransactionError) {
		return withLabel(err, TransientTransactionError)
	}
	return err
}

// relevant returns the error for toReturn, without the label.
func (errs *attemptErrors) relevant(last *failedAttempt) error {
	switch {
	case last.attempted(errs.kind) || errs.first == nil:
		return last.err
	case errs.attempted != nil:
		return errs.attempted
	default:
		return errs.first
	}
}

// attempted reports whether the command was sent and, unless it is a read, the server may have executed it, that is, did not deny
// it.
func (fail *failedAttempt) attempted(kind retry.Kind) bool {
	return fail.stage == sending && fail.outOfTime == nil && (kind == retry.Read || !fail.hasErrorLabel(NoWritesPerformed))
}

// hasErrorLabel reports whether the error is about this command, and has the label. The labels of a wrapped error are not its
// own: if a reply cannot be decrypted because the key vault is overloaded, the server has executed the command; and an error
// while a command is built never means a rejection.
func (fail *failedAttempt) hasErrorLabel(label string) bool {
	return fail.stage != preparing && backpressure.HasLabel(fail.err, label)
}

// isRetryableOverloadError reports whether the error has both labels of a retryable overload error.
func (fail *failedAttempt) isRetryableOverloadError() bool {
	return fail.stage != preparing && backpressure.IsRetryableOverload(fail.err)
}

// classify determines whether the Retryable Reads or Retryable Writes specification covers the failure, and adds the labels that
// these specifications require.
func (ex *operationRun) classify(fail *failedAttempt) {
	switch fail.stage {
	case selecting:
		ex.classifyCheckout(fail)
	case sending:
		retryable := ex.retryableReadWrite(fail.err)
		fail.err = ex.addRetryableWriteError(fail.err, retryable)
		fail.readWrite = retryable && ex.retrySupported && ex.sent.retryEnabled && !ex.unsupportedStorageEngine(fail.err)
		fail.readWriteOff = retryable && ex.retrySupported && !ex.sent.retryEnabled && !ex.op.IsOutputAggregate
		_, writeFailed := fail.err.(WriteCommandError)
		fail.executed = writeFailed && !fail.readWrite && !fail.hasErrorLabel(ErrSystemOverloadedError)
		fail.err = ex.labelCommitResult(fail.err)
	}
}

// retryableReadWrite reports whether the Retryable Reads or Retryable Writes specification retries after the error, regardless of
// the options.
func (ex *operationRun) retryableReadWrite(err error) bool {
	desc := ex.sent.desc
	switch e := err.(type) {
	case WriteCommandError:
		return e.Retryable(desc.Server.Kind, desc.WireVersion)
	case Error:
		if ex.op.Type == Write {
			return e.RetryableWrite(desc.WireVersion)
		}
		return e.RetryableRead()
	default:
		return false
	}
}

// addRetryableWriteError adds the label RetryableWriteError if the server does not: servers before 4.4 never do, and none does
// for a network error. Commands of a transaction other than commit and abort never get it.
func (ex *operationRun) addRetryableWriteError(err error, retryable bool) error {
	if !ex.sent.retryEnabled || ex.inTransaction() {
		return err
	}
	wireVersion := ex.sent.desc.WireVersion
	unlabeled := retryable && wireVersion != nil && wireVersion.Max < 9

	switch e := err.(type) {
	case WriteCommandError:
		if unlabeled {
			return withLabel(e, RetryableWriteError)
		}
	case Error:
		if ex.op.Type == Write && (unlabeled || e.HasErrorLabel(NetworkError)) {
			return withLabel(e, RetryableWriteError)
		}
	}
	return err
}

// unsupportedStorageEngine reports whether a retryable write failed because the server's storage engine supports none.
func (ex *operationRun) unsupportedStorageEngine(err error) bool {
	if !ex.retrySupported || ex.op.Type != Write {
		return false
	}
	switch e := err.(type) {
	case WriteCommandError:
		return e.UnsupportedStorageEngine()
	case Error:
		return e.UnsupportedStorageEngine()
	default:
		return false
	}
}

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
