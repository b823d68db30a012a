package driver

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

// succeed processes the reply of a successful attempt.
func (ex *operationRun) succeed(ctx context.Context) error {
	if ex.sent.moreToCome {
		// The outcome is unknown, so nothing is deposited in the token bucket.
		return ErrUnacknowledgedWrite
	}
	ex.retries.Succeeded()
	return ex.processResponse(ctx, nil)
}

// processResponse passes the last reply to the operation, with the error made of it, if any.
func (ex *operationRun) processResponse(ctx context.Context, err error) error {
	if ex.op.ProcessResponseFn == nil {
		return nil
	}
	info := ResponseInfo{
		Server:                ex.srvr,
		Connection:            ex.conn,
		ConnectionDescription: ex.sent.desc.Server,
		CurrentIndex:          ex.currIndex,
		Error:                 err,
		runCommand:            ex.op.Type == 0, // no other command without a type opens a cursor
	}
	if ex.op.isClientBulkWrite() {
		// Reading the cursor of the reply takes commands, which need a connection too and may have to back off.
		if driverutil.IsServerLoadBalanced(info.ConnectionDescription) {
			// They need this one, to which the cursor is pinned until it is exhausted or closed.
			defer ex.releaseConnection()
		} else {
			ex.releaseConnection()
		}
	}
	return ex.op.ProcessResponseFn(ctx, ex.sent.res, info)
}

// isClientBulkWrite reports whether the operation is the only one whose ProcessResponseFn sends commands: the results of a client
// bulk write come as a cursor, which it reads to the end.
func (op Operation) isClientBulkWrite() bool {
	return op.Batches != nil && op.Name == driverutil.BulkWriteOp
}

// giveUp ends the command with a failure that is not retried. It returns nil if the failure does not end the operation:
// an unordered write goes on with the next batch.
func (ex *operationRun) giveUp(ctx context.Context, fail *failedAttempt, reason retry.Reason) error {
	if outcome := backpressure.PurposeOf(ctx).Outcome; outcome != nil {
		outcome.Unsent = fail.stage != sending
	}
	switch {
	case reason == retry.ContextDone:
		return ex.ranOut(ctx, fail)
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

// ranOut ends the command because nobody waits for a retry any longer.
func (ex *operationRun) ranOut(ctx context.Context, fail *failedAttempt) error {
	err := ex.errs.toReturn(fail)
	switch {
	case ex.retryTooLate(fail):
		return ex.interrupted(ctx, err, fail.late, noTime)
	case fail.contextDone():
		return err // which says so
	default:
		return ex.interrupted(ctx, err, contextErr(ctx), noTime)
	}
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

// batchErrors returns the write errors and write concern errors of all batches.
func (ex *operationRun) batchErrors() error {
	if len(ex.failed.WriteErrors) == 0 && ex.failed.WriteConcernError == nil {
		return nil
	}
	return ex.failed
}

// isContextError reports whether an error comes from the operation's deadline or cancellation.
func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// When an operation was interrupted.
const (
	duringBackoff = "interrupted during the backoff before a retry"
	noTime        = "no time for a retry"
)

// interrupted ends the command when there is no time for another attempt. The error is the one with which it would have failed
// otherwise, and wraps the cause.
func (ex *operationRun) interrupted(ctx context.Context, err, cause error, when string) error {
	if e, ok := err.(WriteCommandError); ok {
		if failed := ex.writeFailed(e); failed != nil {
			err = failed
		} else {
			err = ex.failed
		}
	}
	interruption := backpressure.Interruption{Err: err, When: when, Cause: cause}
	if outcome := backpressure.PurposeOf(ctx).Outcome; outcome != nil {
		outcome.Interruption = &interruption
	}
	switch e := err.(type) {
	case WriteCommandError:
		return interruption
	case Error:
		if e.Message != "" {
			e.Message += ": "
		}
		e.Message += when
		e.Wrapped, e.told = backpressure.Interruption{Err: e.Wrapped, Cause: cause}, false
		return e
	default:
		return Error{Message: err.Error() + ": " + when, Labels: labelsOf(err), Wrapped: backpressure.Interruption{Err: err, Cause: cause}}
	}
}
