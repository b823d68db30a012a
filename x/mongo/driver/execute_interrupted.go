package driver

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Specifications disagree about a retry for which there is no time. retryable-reads.md and retryable-writes.md return the
// previous attempt's error; client-side-operations-timeout.md, "Errors", wants a timeout error that exposes the underlying one.
// The previous attempt's error, wrapping the context's, satisfies both: it has the server's type, code and labels, errors.Is
// finds the context's error, and mongo.IsTimeout is true if that is a timeout.

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
func (ex *operationRun) interrupted(err, cause error, when string) error {
	if e, ok := err.(WriteCommandError); ok {
		if failed := ex.writeFailed(e); failed != nil {
			err = failed
		} else {
			err = ex.failed
		}
	}
	switch e := err.(type) {
	case WriteCommandError:
		return InterruptedWriteError{WriteCommandError: e, when: when, cause: cause}
	case Error:
		e.Message += ": " + when
		e.Wrapped = interruption{err: e.Wrapped, cause: cause}
		return e
	default:
		return Error{Message: when, Labels: labelsOf(err), Wrapped: interruption{err: err, cause: cause}}
	}
}

// interruption is the cause of an interruption, together with what the error wraps anyway, which may be nil.
type interruption struct {
	err, cause error
}

// Error implements the error interface.
func (e interruption) Error() string {
	if e.err == nil {
		return e.cause.Error()
	}
	return e.err.Error() + ": " + e.cause.Error()
}

// Unwrap returns what the error wraps anyway.
func (e interruption) Unwrap() error { return e.err }

// Is lets errors.Is find the cause.
func (e interruption) Is(target error) bool { return errors.Is(e.cause, target) }

// InterruptedWriteError is the error of a write that a server executed with an error and that there was no time to retry. It does
// not unwrap to the WriteCommandError, so that nobody takes it for one and loses the cause.
type InterruptedWriteError struct {
	WriteCommandError WriteCommandError

	when  string
	cause error
}

// Error implements the error interface.
func (e InterruptedWriteError) Error() string {
	return e.WriteCommandError.Error() + ": " + e.Interruption()
}

// Interruption tells when the write was interrupted and why.
func (e InterruptedWriteError) Interruption() string { return e.when + ": " + e.cause.Error() }

// Unwrap returns the cause.
func (e InterruptedWriteError) Unwrap() error { return e.cause }

// HasErrorLabel reports whether the write's error has the label.
func (e InterruptedWriteError) HasErrorLabel(label string) bool {
	return e.WriteCommandError.HasErrorLabel(label)
}
