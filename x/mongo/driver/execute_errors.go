package driver

import (
	"context"
	"errors"
)

// attemptErrors holds the errors of a command's failed attempts, as far as one may still be returned
// (retryable-writes.md, "Executing Retryable Write Commands").
type attemptErrors struct {
	first     error
	attempted error // the latest that leaves open whether the server executed the command
}

// record takes the failure of an attempt that is followed by another.
func (errs *attemptErrors) record(fail *failure) {
	if errs.first == nil {
		errs.first = fail.err
	}
	if fail.attempted() {
		errs.attempted = fail.err
	}
}

// toReturn returns the error of a command whose last attempt has failed: the latest one after which the server may have
// executed the command, or the first if there is none.
func (errs *attemptErrors) toReturn(last *failure) error {
	switch {
	case last.attempted() || errs.first == nil:
		return last.err
	case errs.attempted != nil:
		return errs.attempted
	default:
		return errs.first
	}
}

// attempted reports whether the server may have executed the command. It has not if it says so, or if nothing was sent.
func (fail *failure) attempted() bool {
	return fail.stage == sending && !hasErrorLabel(fail.err, NoWritesPerformed)
}

// hasErrorLabel reports whether the error, or one that it wraps, has the label.
func hasErrorLabel(err error, label string) bool {
	var labeled labeledError
	return errors.As(err, &labeled) && labeled.HasErrorLabel(label)
}

// isRetryableOverloadError reports whether the error has both labels of a retryable overload error.
func isRetryableOverloadError(err error) bool {
	return hasErrorLabel(err, ErrSystemOverloadedError) && hasErrorLabel(err, ErrRetryableError)
}

// classify finds out whether the Retryable Reads or Retryable Writes specification covers the failure, and adds the
// labels that those specifications tell drivers to add.
func (ex *execution) classify(fail *failure) {
	switch fail.stage {
	case selecting:
		poolErr, ok := fail.err.(RetryablePoolError)
		fail.readWrite = ok && poolErr.Retryable()
	case sending:
		retryable := ex.retryableReadWrite(fail.err)
		fail.err = ex.addRetryableWriteError(fail.err, retryable)
		fail.readWrite = retryable && ex.retrySupported && ex.sent.retryEnabled && !ex.unsupportedStorageEngine(fail.err)
		fail.readWriteOff = retryable && ex.retrySupported && !ex.sent.retryEnabled && !ex.op.IsOutputAggregate
		_, writeFailed := fail.err.(WriteCommandError)
		fail.executed = writeFailed && !fail.readWrite && !hasErrorLabel(fail.err, ErrSystemOverloadedError)
	}
}

// retryableReadWrite reports whether an error is one of those that the Retryable Reads or Retryable Writes specification
// lets be retried, whatever the options.
func (ex *execution) retryableReadWrite(err error) bool {
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

// addRetryableWriteError adds the label RetryableWriteError where a server does not: servers before 4.4 never do, and
// none does for a network error. Commands of a transaction other than commit and abort never get it.
func (ex *execution) addRetryableWriteError(err error, retryable bool) error {
	client := ex.op.Client
	inTransaction := client != nil && client.TransactionRunning() && !client.Committing && !client.Aborting
	if !ex.sent.retryEnabled || inTransaction {
		return err
	}
	wireVersion := ex.sent.desc.WireVersion
	unlabeled := retryable && wireVersion != nil && wireVersion.Max < 9

	switch e := err.(type) {
	case WriteCommandError:
		if unlabeled {
			e.Labels = append(e.Labels, RetryableWriteError)
			return e
		}
	case Error:
		if ex.op.Type == Write && (unlabeled || e.HasErrorLabel(NetworkError)) {
			e.Labels = append(e.Labels, RetryableWriteError)
			return e
		}
	}
	return err
}

// unsupportedStorageEngine reports whether a retryable write failed because the server cannot have any.
func (ex *execution) unsupportedStorageEngine(err error) bool {
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

// giveUp ends the command with a failure that is not retried. It returns nil if the failure does not end the operation:
// an unordered write goes on with the next batch.
func (ex *execution) giveUp(ctx context.Context, fail *failure) error {
	switch {
	case fail.stage == selecting:
		return ex.errs.toReturn(fail)
	case fail.stage == preparing:
		return fail.err
	case ex.unsupportedStorageEngine(fail.err):
		return ErrUnsupportedStorageEngine
	}

	err := ex.errs.toReturn(fail)
	_ = ex.processResponse(ctx, err)
	switch e := err.(type) {
	case WriteCommandError:
		return ex.writeFailed(e)
	case Error:
		if ex.committing() && (ex.retryableReadWrite(e) || e.Code == maxTimeMSExpired) {
			e.Labels = append(e.Labels, UnknownTransactionCommitResult)
		}
		return e
	default:
		return err
	}
}

// maxTimeMSExpired is the code of the server's error for a command that ran into its maxTimeMS.
const maxTimeMSExpired = 50

func (ex *execution) committing() bool {
	return ex.op.Client != nil && ex.op.Client.Committing
}

// writeFailed handles a write that the server executed with errors. It returns nil if they are to be collected.
func (ex *execution) writeFailed(e WriteCommandError) error {
	if ex.op.Batches != nil && len(e.WriteErrors) > 0 {
		for i := range e.WriteErrors {
			e.WriteErrors[i].Index += int64(ex.currIndex)
		}
		if ordered := ex.op.Batches.IsOrdered(); ordered == nil || *ordered {
			return e
		}
	}
	if ex.committing() && e.WriteConcernError != nil {
		return ex.commitFailed(e)
	}
	ex.failed.WriteConcernError = e.WriteConcernError
	ex.failed.WriteErrors = append(ex.failed.WriteErrors, e.WriteErrors...)
	ex.failed.Labels = e.Labels
	ex.failed.Raw = e.Raw
	return nil
}

// commitFailed turns the write concern error of a commitTransaction into the error that applications expect of it. The
// commit's result is unknown, unless the write concern cannot be satisfied at all.
func (ex *execution) commitFailed(e WriteCommandError) error {
	wce := e.WriteConcernError
	err := Error{
		Code:    int32(wce.Code),
		Name:    wce.Name,
		Message: wce.Message,
		Labels:  e.Labels,
		Raw:     e.Raw,
	}
	switch err.Code {
	case unknownReplWriteConcernCode, unsatisfiableWriteConcernCode:
	default:
		err.Labels = append(err.Labels, UnknownTransactionCommitResult)
	}
	if ex.sent.retryEnabled && ex.retryableReadWrite(e) {
		err.Labels = append(err.Labels, RetryableWriteError)
	}
	return err
}
