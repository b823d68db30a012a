package driver

import (
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
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
