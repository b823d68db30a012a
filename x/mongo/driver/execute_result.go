package driver

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

// succeed processes the reply of a successful attempt.
func (ex *operationRun) succeed(ctx context.Context, a *attempt) error {
	if a.moreToCome {
		// The outcome is unknown, so nothing is deposited in the token bucket.
		return ErrUnacknowledgedWrite
	}
	ex.cmd.execution.Succeeded()
	return ex.processResponse(ctx, a, nil)
}

// processResponse passes the last reply to the operation, with the error made of it, if any.
func (ex *operationRun) processResponse(ctx context.Context, a *attempt, err error) error {
	if ex.op.ProcessResponseFn == nil {
		return nil
	}
	if ex.op.ReadsResults {
		// Reading the cursor of the reply takes commands, which need a connection too and may have to back off.
		if driverutil.IsServerLoadBalanced(a.desc.Server) {
			// They need this one, to which the cursor is pinned until it is exhausted or closed.
			defer ex.releaseConnection()
		} else {
			ex.releaseConnection()
		}
	}
	info := ResponseInfo{
		Server:                a.server,
		Connection:            a.conn,
		ConnectionDescription: a.desc.Server,
		CurrentIndex:          ex.currIndex,
		Error:                 err,
	}
	if (err != nil || ex.purpose.FirstBatch) && !ex.op.ReadsResults {
		info.discard = func(opened CursorResponse) { ex.discard(ctx, opened) }
	}
	return ex.op.ProcessResponseFn(ctx, a.reply, info)
}

// giveUp ends the command with a failure that is not retried. It returns nil if the failure does not end the operation:
// an unordered write goes on with the next batch.
func (ex *operationRun) giveUp(ctx context.Context, a *attempt, d decision) error {
	err := ex.cmd.errs.toReturn(a)
	switch {
	case d.Reason == retry.Disconnected:
		if ex.cmd.errs.first == nil {
			return err // which says so
		}
		return ex.interrupted(ctx, a, d.ended, noAttempt)
	case a.stage == unauthenticated && ex.cmd.errs.countsWithoutReauthentication():
		return ex.interrupted(ctx, a, errors.Unwrap(a.err), noRetry)
	case d.ended != nil:
		if a.interrupted() && d.cause != retry.Late {
			return err // which says so
		}
		return ex.interrupted(ctx, a, d.ended, noTime)
	case a.stage != sent:
		return err
	case ex.unsupportedStorageEngine(a.err):
		return ErrUnsupportedStorageEngine
	}

	_ = ex.processResponse(ctx, a, err)
	if e, ok := err.(WriteCommandError); ok {
		return ex.writeFailed(e)
	}
	return err
}

// When an operation was interrupted.
const (
	duringBackoff = "interrupted during the backoff before a retry"
	noTime        = "no time for a retry"
	noAttempt     = "no further attempt"
	noRetry       = "no retry"
)

// interrupted ends the command when there is no time for another attempt. The error is the one with which it would have failed
// otherwise, and wraps the cause.
func (ex *operationRun) interrupted(ctx context.Context, a *attempt, cause error, when string) error {
	err := ex.cmd.errs.toReturn(a)
	if e, ok := err.(WriteCommandError); ok {
		if err = ex.writeFailed(e); err == nil {
			err = ex.failed
		}
	}
	switch e := err.(type) {
	case WriteCommandError:
		interruption := backpressure.Interruption{Err: e, When: when, Cause: cause}
		if ex.op.ReadsResults {
			// Errors of its earlier batches are known to it alone.
			return ex.op.ProcessResponseFn(ctx, nil, ResponseInfo{CurrentIndex: ex.currIndex, Error: interruption})
		}
		return interruption
	case Error:
		if e.Message != "" {
			e.Message += ": "
		}
		e.Message += when
		e.Wrapped, e.repeats = backpressure.Interruption{Err: e.Wrapped, Cause: cause}, false
		return e
	default:
		return Error{
			Message: err.Error() + ": " + when, Labels: labelsOf(err),
			Wrapped: backpressure.Interruption{Err: err, Cause: cause},
			unsent:  ex.cmd.errs.unsent(a),
		}
	}
}
