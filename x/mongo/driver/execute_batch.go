package driver

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
)

// concludeBatch concludes the command of a batch: err is its error, and executed the attempt that the server executed, if there is one.
func (ex *operationRun) concludeBatch(ctx context.Context, a, executed *attempt, err error) error {
	o := Outcome{Kind: ex.cmd.errs.outcome(a), First: ex.currIndex, Documents: ex.cmd.documents}
	if executed == nil {
		o.Err = err
		return ex.stop(o, err)
	}
	o.Written, _ = executed.err.(WriteCommandError)
	o.Err = ex.cmd.errs.failedRetry(a, executed, err)
	if unread := o.addResults(ex.processResponse(ctx, executed, executed.err)); unread != nil && o.Err == nil {
		o.Err, err = unread, unread
	}
	if malformed := o.place(); malformed != nil {
		o.Kind, o.Written.WriteErrors, o.Err = OutcomeUnknown, nil, malformed
		return ex.stop(o, malformed)
	}
	if o.succeeded() {
		return nil
	}
	_, isWritten := err.(WriteCommandError)
	failed := len(o.Written.WriteErrors)+o.Unread > 0
	if (err == nil || isWritten) && a.stage == sent && (!failed || !ex.ordered()) {
		ex.outcomes = append(ex.outcomes, o)
		return nil
	}
	return ex.stop(o, err)
}

// failedRetry returns the error of the retries of an attempt that was executed, without what that attempt's error says.
func (errs *attemptErrors) failedRetry(a, executed *attempt, err error) error {
	last := a.err
	if a.tooLate() {
		last = errs.previous
	}
	_, none := last.(WriteCommandError)
	none = none || last == nil
	switch e := err.(type) {
	case nil:
		return nil
	case WriteCommandError:
		if a == executed {
			return nil
		}
		return a.err
	case backpressure.Interruption:
		if none {
			return backpressure.Interruption{When: e.When, Cause: e.Cause}
		}
		return withInterruption(last, e.Cause, e.When, false)
	default:
		return err
	}
}

// stop records the outcome of the last command, and of the batches that are not sent, and returns the operation's error.
func (ex *operationRun) stop(last Outcome, err error) error {
	left := ex.op.Batches.Size()
	if last.Documents == 0 { // it was never built
		last.Documents = left
	}
	ex.outcomes = append(ex.outcomes, last)
	if left > last.Documents {
		ex.outcomes = append(ex.outcomes,
			Outcome{Kind: OutcomeUnsent, First: last.First + last.Documents, Documents: left - last.Documents})
	}
	return ex.batchErrors(err)
}

// ordered reports whether a write error of one batch ends the operation before the next.
func (ex *operationRun) ordered() bool {
	ordered := ex.op.Batches.IsOrdered()
	return ordered == nil || *ordered
}

// batchErrors returns the error of an operation whose last command has failed with err: if that was executed, with the errors of all
// batches.
func (ex *operationRun) batchErrors(err error) error {
	if len(ex.outcomes) == 0 {
		return err
	}
	switch e := err.(type) {
	case nil, WriteCommandError:
		return written(ex.outcomes)
	case backpressure.Interruption:
		return e.Around(written(ex.outcomes))
	default:
		return err
	}
}

// written returns the write errors and a write concern error of the commands that were executed.
func written(outcomes []Outcome) WriteCommandError {
	var all WriteCommandError
	for _, o := range outcomes {
		all.WriteErrors = append(all.WriteErrors, o.Written.WriteErrors...)
		all.Labels = union(all.Labels, o.Written.Labels)
		if o.Written.WriteConcernError != nil {
			all.WriteConcernError = o.Written.WriteConcernError
		}
		if o.Written.Raw != nil {
			all.Raw = o.Written.Raw
		}
	}
	return all
}

// withOutcomes returns the operation's error with the outcomes of its batches.
func (ex *operationRun) withOutcomes(err error) error {
	if err == nil || len(ex.outcomes) == 0 {
		return err
	}
	return BatchesError{Err: err, Outcomes: ex.outcomes, Ordered: ex.ordered()}
}
