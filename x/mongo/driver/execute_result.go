package driver

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

// succeed ends the attempts of a command after one that succeeded.
func (ex *operationRun) succeed(a *attempt) error {
	if a.moreToCome {
		// The outcome is unknown, so nothing is deposited in the token bucket.
		return ErrUnacknowledgedWrite
	}
	ex.cmd.execution.Succeeded()
	return nil
}

// conclude passes the command's reply to the operation: that of the attempt that the server executed, though a later attempt may have
// failed, or else that of the last one. For an operation with batches it records what the command did, and returns no error if
// the next batch is to be sent.
func (ex *operationRun) conclude(ctx context.Context, a *attempt, err error) error {
	executed := ex.cmd.errs.executed
	if a.executed() {
		executed = a
	}
	switch {
	case err == ErrUnacknowledgedWrite:
		return err // there is no reply
	case ex.results != nil:
		return ex.results.conclude(ctx, a, executed, err)
	case err == nil:
		return ex.processResponse(ctx, a, nil)
	case a.stage == sent && err != ErrUnsupportedStorageEngine: // whose reply is not processed
		if _, ok := err.(WriteCommandError); ok && executed != nil {
			a = executed // err is its error
		}
		_ = ex.processResponse(ctx, a, err) // err counts more
	}
	return err
}

// processResponse passes the reply of an attempt to the operation, with the error made of it, if any.
func (ex *operationRun) processResponse(ctx context.Context, a *attempt, err error) error {
	if ex.op.ProcessResponseFn == nil {
		return nil
	}
	info := ResponseInfo{
		Server:                a.server,
		Connection:            a.conn,
		ConnectionDescription: a.desc.Server,
		CurrentIndex:          ex.currIndex,
		Error:                 err,
	}
	if d, ok := any(ex).(discarder); ok {
		info = d.discarding(ctx, info)
	}
	return ex.op.ProcessResponseFn(ctx, a.reply, info)
}

// giveUp ends the command with a failure that is not retried. An attempt whose own error says why there is no other needs no more.
func (ex *operationRun) giveUp(ctx context.Context, a *attempt, v retry.Verdict) error {
	switch {
	case v.Reason == retry.Disconnected && ex.cmd.errs.first != nil:
		return ex.interrupted(a, backpressure.ErrDisconnected, noAttempt)
	case a.stage == unauthenticated && ex.cmd.errs.mayHaveWritten():
		// The cause alone: the Error around it has nothing that the returned one lacks.
		return ex.interrupted(a, errors.Unwrap(a.err), noRetry)
	case v.Reason == retry.ContextDone && !a.timeUp:
		return ex.interrupted(a, ex.purpose.Err(ctx), noTime)
	case v.Reason == retry.ContextDone && a.tooLate():
		return ex.interrupted(a, a.err, noTime)
	case a.stage == sent && ex.unsupportedStorageEngine(a.err):
		return ErrUnsupportedStorageEngine
	default:
		return ex.cmd.errs.toReturn(a)
	}
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

// When an operation was interrupted.
const (
	duringBackoff = "interrupted during the backoff before a retry"
	noTime        = "no time for a retry"
	noAttempt     = "no further attempt"
	noRetry       = "no retry"
)

// interrupted ends the command when there is no time for another attempt, the client is disconnected, or the connection for another
// attempt cannot be reauthenticated. The error is the one with which it would have failed otherwise (retryable-reads.md and
// retryable-writes.md want that of the attempt), and wraps the cause (client-side-operations-timeout.md, "Errors": a timeout exposes
// the underlying error).
func (ex *operationRun) interrupted(a *attempt, cause error, when string) error {
	err := ex.cmd.errs.toReturn(a)
	if e, ok := err.(WriteCommandError); ok { // package mongo makes an exception of it
		return backpressure.Interruption{Err: e, When: when, Cause: cause}
	}
	return withInterruption(err, cause, when)
}

// withInterruption adds to the error of an attempt why and when there was no time for another.
func withInterruption(err, cause error, when string) error {
	e, ok := err.(Error)
	if !ok {
		return Error{
			Message: err.Error() + ": " + when, Labels: backpressure.LabelsInChain(err),
			Wrapped: backpressure.Interruption{Err: err, Cause: cause},
		}
	}
	if e.Message != "" {
		e.Message += ": "
	}
	e.Message += when
	e.Wrapped = backpressure.Interruption{Err: e.Wrapped, Cause: cause}
	e.repeats = false // its message does not have the cause
	return e
}

// mayHaveAdvanced reports whether a server may have executed the command: it was sent, and not rejected by an overloaded server.
func (a *attempt) mayHaveAdvanced() bool {
	return a.stage == sent && !backpressure.IsRetryableOverload(a.err)
}

// newBatchResults returns what gathers the results of the run, or nil if it has no Batches.
func (ex *operationRun) newBatchResults() batchResults {
	if ex.op.Batches == nil {
		return nil
	}
	if keeps, ok := any(ex).(keepsResults); ok {
		return keeps.keptResults()
	}
	return &gatheredErrors{ex: ex}
}

// withResults returns the operation's error, with what the commands of its Batches did.
func (ex *operationRun) withResults(err error) error {
	if ex.results == nil {
		return err
	}
	return ex.results.around(err)
}

// gatheredErrors gathers only the errors of writes and write concerns. Any other error, such as one of the network, hides them, as it
// always has. Where results are kept, execute_batch.go does it.
type gatheredErrors struct {
	ex  *operationRun
	all WriteCommandError
}

func (w *gatheredErrors) conclude(ctx context.Context, a, executed *attempt, err error) error {
	if executed == nil {
		return err // which hides what is gathered
	}
	unread := w.ex.processResponse(ctx, executed, executed.err)
	failed, isWritten := executed.err.(WriteCommandError)
	ends := len(failed.WriteErrors) > 0 && w.ex.ordered() || a.stage != sent // a retry of what was executed, which failed
	if isWritten {
		w.add(failed)
	}
	switch e := err.(type) {
	case nil, WriteCommandError:
		if isWritten && ends {
			return w.all
		}
		return unread // nil, unless the reply is malformed
	case backpressure.Interruption:
		return e.Around(w.all)
	default:
		return err // of a later attempt, which hides what is gathered
	}
}

// add gathers the errors of a command, whose documents it names by their places in the whole write.
func (w *gatheredErrors) add(failed WriteCommandError) {
	all := w.all.WriteErrors
	for _, e := range failed.WriteErrors {
		e.Index += int64(w.ex.currIndex)
		all = append(all, e)
	}
	if failed.WriteConcernError == nil {
		failed.WriteConcernError = w.all.WriteConcernError // there is room for the last one only
	}
	failed.WriteErrors = all
	w.all = failed
}

func (w *gatheredErrors) written() error {
	if len(w.all.WriteErrors) == 0 && w.all.WriteConcernError == nil {
		return nil
	}
	return w.all
}

func (*gatheredErrors) retried(*attempt) {} // conclude gets the one that was executed

func (*gatheredErrors) change(func(error) error) {} // it holds errors of writes, which stay as they are

func (*gatheredErrors) around(err error) error { return err }

// ordered reports whether a write error of one batch ends the operation before the next.
func (ex *operationRun) ordered() bool {
	ordered := ex.op.Batches.IsOrdered()
	return ordered == nil || *ordered
}
