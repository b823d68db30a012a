package driver

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
)

// giveUp ends the command with a failure that is not retried. It returns nil if the failure does not end the operation:
// an unordered write goes on with the next batch.
func (ex *operationRun) giveUp(ctx context.Context, fail *failedAttempt) error {
	if outcome := backpressure.PurposeOf(ctx).Outcome; outcome != nil {
		outcome.Unsent = fail.stage != sending
	}
	switch {
	case fail.outOfTime != nil && ex.errs.first != nil:
		return ex.interrupted(ctx, ex.errs.toReturn(fail), fail.outOfTime, noTime)
	case fail.stage != sending:
		return ex.errs.toReturn(fail)
	case ex.unsupportedStorageEngine(fail.err):
		return ErrUnsupportedStorageEngine
	}

	err := ex.errs.toReturn(fail)
	_ = ex.processResponse(ctx, err)
	if e, ok := err.(WriteCommandError); ok {
		return ex.writeFailed(e)
	}
	return err
}

// labelCommitResult adds the label UnknownTransactionCommitResult to the error of a commit that the server may have executed, and
// converts a write concern error to the error that applications expect.
func (ex *operationRun) labelCommitResult(err error) error {
	if !ex.committing() {
		return err
	}
	switch e := err.(type) {
	case Error:
		if ex.retryableReadWrite(e) || e.Code == maxTimeMSExpired || lacksMajority(e) {
			return withLabel(e, UnknownTransactionCommitResult)
		}
	case WriteCommandError:
		if e.WriteConcernError != nil {
			return ex.commitFailed(e)
		}
	}
	return err
}

// lacksMajority reports whether the reply to a failed commit also has a write concern error. A new primary that does not know the
// transaction says NoSuchTransaction, but until a majority confirms that, the commit may still turn out to have happened
// (transactions.md, "UnknownTransactionCommitResult"). Sent again, it gets a final answer.
func lacksMajority(e Error) bool {
	if e.HasErrorLabel(TransientTransactionError) {
		return false
	}
	code, ok := e.Raw.Lookup("writeConcernError", "code").AsInt64OK()
	return ok && confirmable(int32(code))
}

// confirmable reports whether a commit with a write concern error of this code may have happened. It has not if the members
// cannot satisfy the write concern.
func confirmable(code int32) bool {
	return code != unknownReplWriteConcernCode && code != unsatisfiableWriteConcernCode
}

// maxTimeMSExpired is the server's error code for a command that exceeded its maxTimeMS.
const maxTimeMSExpired = 50

func (ex *operationRun) committing() bool {
	return ex.op.Client != nil && ex.op.Client.Committing
}

// writeFailed handles a write that the server executed with errors. It returns nil if they are to be collected.
func (ex *operationRun) writeFailed(e WriteCommandError) error {
	if ex.op.Batches != nil && len(e.WriteErrors) > 0 {
		writeErrors, err := errorsOfBatch(e.WriteErrors, ex.sent.batchSize)
		if err != nil {
			return Error{Message: "malformed reply", Labels: e.Labels, Raw: e.Raw, Wrapped: err}
		}
		e.WriteErrors = writeErrors
		for i := range e.WriteErrors {
			e.WriteErrors[i].Index += int64(ex.currIndex)
		}
		if ordered := ex.op.Batches.IsOrdered(); ordered == nil || *ordered {
			return e
		}
	}
	if e.WriteConcernError != nil {
		ex.failed.WriteConcernError = e.WriteConcernError
	}
	ex.failed.WriteErrors = append(ex.failed.WriteErrors, e.WriteErrors...)
	for _, label := range e.Labels {
		if !ex.failed.HasErrorLabel(label) {
			ex.failed.Labels = append(ex.failed.Labels, label)
		}
	}
	ex.failed.Raw = e.Raw
	return nil
}

// commitFailed converts the write concern error of a commitTransaction to the error that applications expect. The commit's result
// is unknown, unless the write concern cannot be satisfied at all.
func (ex *operationRun) commitFailed(e WriteCommandError) error {
	wce := e.WriteConcernError
	failed := Error{
		Code:    int32(wce.Code),
		Name:    wce.Name,
		Message: wce.Message,
		Labels:  e.Labels,
		Raw:     e.Raw,
	}
	var err error = failed
	if confirmable(failed.Code) {
		err = withLabel(err, UnknownTransactionCommitResult)
	}
	if ex.sent.retryEnabled && ex.retryableReadWrite(e) {
		err = withLabel(err, RetryableWriteError)
	}
	return err
}

// isContextError reports whether an error comes from the operation's deadline or cancellation.
func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
