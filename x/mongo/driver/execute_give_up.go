package driver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

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
	case ex.outOfTime(fail):
		return ex.interrupted(ctx, err, fail.outOfTime, noTime)
	case fail.contextDone():
		return err // which says so
	default:
		return ex.interrupted(ctx, err, contextErr(ctx), noTime)
	}
}

// outOfTime reports whether there was no time to make the attempt, after another had failed.
func (ex *operationRun) outOfTime(fail *failedAttempt) bool {
	return fail.outOfTime != nil && ex.errs.first != nil
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

// isContextError reports whether an error comes from the operation's deadline or cancellation.
func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// When an operation was interrupted.
const (
	duringBackoff = "interrupted during the backoff before a retry"
	noTime        = "no time for a retry"
)

// outOfTime returns the error of an attempt that was not made because the operation's context has ended or is about to. It
// returns nil for other errors, such as that of a server selection that ended before the context.
func outOfTime(ctx context.Context, err error, s stage) error {
	switch {
	case !isContextError(err):
		return nil
	case s == selecting && ctx.Err() == nil:
		return nil
	default:
		return err
	}
}

// checkDeadline returns an error if there is not even time for the fastest observed round trip.
func (ex *operationRun) checkDeadline(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	deadline, ok := ctx.Deadline()
	if rtt := ex.srvr.RTTMonitor(); ok && time.Until(deadline) < rtt.Min() {
		return fmt.Errorf("%w: %v", ErrDeadlineWouldBeExceeded, rtt.Stats())
	}
	return nil
}

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
