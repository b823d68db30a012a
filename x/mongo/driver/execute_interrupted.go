package driver

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
)

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
