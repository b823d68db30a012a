package driver

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
)

// operationRun keeps the Outcomes of its batches so far that did not simply succeed.
//
//fork:extend BatchesError tells them
type operationRun struct {
	kept []Outcome
	open bool // a server may have executed an attempt of the present command, and no reply says whether it has
}

// keptBatches is a run that gathers its kept Outcomes. It is the run itself, so that nothing is allocated for a write that succeeds.
type keptBatches operationRun

var _ keepsResults = (*operationRun)(nil) // as which operationRun.newBatchResults finds it

// keptResults makes the run keep the outcome of each command.
func (ex *operationRun) keptResults() batchResults {
	if ex.op.readsResults() && ex.op.RetryMode != nil && ex.policy != nil && !ex.policy.RetryWrites {
		none := RetryNone // which is otherwise known once the first batch is built
		ex.op.RetryMode = &none
	}
	return (*keptBatches)(ex)
}

// resultsReader is implemented by Batches whose ProcessResponseFn reads a cursor, as that of a client bulk write does. Its commands need a
// connection, too.
type resultsReader interface{ ReadsResults() }

func (op Operation) readsResults() bool {
	_, ok := op.Batches.(resultsReader)
	return ok
}

// processResponse passes the reply of an attempt to the operation.
func (out *keptBatches) processResponse(ctx context.Context, a *attempt) error {
	ex := out.run()
	if ex.op.readsResults() {
		// Reading the cursor of the reply takes commands, which need a connection too and may have to back off.
		if driverutil.IsServerLoadBalanced(a.desc.Server) {
			// They need this one, to which the cursor is pinned until it is exhausted or closed.
			defer ex.releaseConnection()
		} else {
			ex.releaseConnection()
		}
	}
	return ex.processResponse(ctx, a, a.err)
}

func (out *keptBatches) run() *operationRun { return (*operationRun)(out) }

func (out *keptBatches) add(more ...Outcome) { out.kept = append(out.kept, more...) }

// conclude concludes the command of a batch: err is its error, and executed the attempt that the server executed, if there is one.
func (out *keptBatches) conclude(ctx context.Context, a, executed *attempt, err error) error {
	ex := out.run()
	o := Outcome{Kind: out.outcome(a), First: ex.currIndex, Documents: ex.cmd.documents}
	if executed == nil {
		o.Err = err
		return out.stop(o, err)
	}
	o.Written, _ = executed.err.(WriteCommandError) // none if it has simply succeeded
	o.Err = ex.cmd.errs.failedRetry(a, executed, err)
	if unread := o.addResults(out.processResponse(ctx, executed)); unread != nil && o.Err == nil {
		o.Err, err = unread, unread // which ends the operation
	}
	if malformed := o.place(); malformed != nil { // then nothing in the reply can be relied on
		o.Kind, o.Written.WriteErrors, o.Err = OutcomeUnknown, nil, malformed
		return out.stop(o, malformed)
	}
	if o.succeeded() {
		return nil
	}
	_, isWritten := err.(WriteCommandError)
	failed := len(o.Written.WriteErrors)+o.Unread > 0
	if (err == nil || isWritten) && a.stage == sent && (!failed || !ex.ordered()) { // it ended with a reply, and not the operation
		out.add(o)
		return nil // the next batch is sent
	}
	return out.stop(o, err)
}

// failedRetry returns the error of the retries of an attempt that was executed, without what that attempt's error says: the outcome has
// that. err may be that very error, if the retries executed nothing; then it is the last attempt's.
func (errs *attemptErrors) failedRetry(a, executed *attempt, err error) error {
	switch e := err.(type) {
	case WriteCommandError:
		if a == executed {
			return nil
		}
		return a.err
	case backpressure.Interruption:
		last := a.err
		if a.tooLate() {
			last = errs.previous // its own error says only that it was
		}
		if _, written := last.(WriteCommandError); written {
			return backpressure.Interruption{When: e.When, Cause: e.Cause}
		}
		return withInterruption(last, e.Cause, e.When)
	default:
		return err
	}
}

// stop records the outcome of the last command, and of the batches that are not sent, and returns the operation's error.
func (out *keptBatches) stop(last Outcome, err error) error {
	left := out.op.Batches.Size() // with those of the last command: AdvanceBatches comes before the next
	if last.Documents == 0 {      // it was never built
		last.Documents = left
	}
	out.add(last)
	if left > last.Documents {
		out.add(Outcome{Kind: OutcomeUnsent, First: last.First + last.Documents, Documents: left - last.Documents})
	}
	return out.errors(err)
}

// written returns the error of an operation whose last command has not failed.
func (out *keptBatches) written() error { return out.errors(nil) }

// errors returns the error of an operation whose last command has failed with err: if that was executed, with the errors of all
// batches.
func (out *keptBatches) errors(err error) error {
	if len(out.kept) == 0 {
		return err
	}
	switch e := err.(type) {
	case nil, WriteCommandError:
		return allWritten(out.kept)
	case backpressure.Interruption:
		return e.Around(allWritten(out.kept))
	default:
		return err
	}
}

// allWritten returns the write errors and a write concern error of the commands that were executed.
func allWritten(outcomes []Outcome) WriteCommandError {
	var all WriteCommandError
	for _, o := range outcomes {
		all.WriteErrors = append(all.WriteErrors, o.Written.WriteErrors...)
		all.Labels = union(all.Labels, o.Written.Labels)
		if o.Written.WriteConcernError != nil {
			all.WriteConcernError = o.Written.WriteConcernError // the last, as there is room for one
		}
		if o.Written.Raw != nil {
			all.Raw = o.Written.Raw
		}
	}
	return all
}

// change implements the batchResults interface.
func (out *keptBatches) change(change func(error) error) {
	for i := range out.kept {
		out.kept[i].Err = change(out.kept[i].Err)
	}
}

// around returns the operation's error with the outcomes of its batches.
func (out *keptBatches) around(err error) error {
	if err == nil || len(out.kept) == 0 {
		return err
	}
	return BatchesError{Err: err, Outcomes: out.kept, Ordered: out.run().ordered()}
}

// union returns the labels with more of them, each once. Nothing limits how many a server sends.
func union(labels, more []string) []string {
	if len(more) == 0 {
		return labels
	}
	known := make(map[string]bool, len(labels)+len(more))
	for _, label := range labels {
		known[label] = true
	}
	for _, label := range more {
		if !known[label] {
			known[label] = true
			labels = append(labels, label)
		}
	}
	return labels
}

// retried implements the batchResults interface.
func (out *keptBatches) retried(a *attempt) { out.open = out.open || !a.withheld && a.open() }

// outcome says what the command did whose last attempt is this one.
func (out *keptBatches) outcome(last *attempt) OutcomeKind {
	open, errs := out.open || last.open(), &out.cmd.errs
	out.open = false // for the next command
	switch {
	case errs.executed != nil || last.executed(): // whatever became of retries
		return OutcomeExecuted
	case open:
		return OutcomeUnknown
	case last.stage == sent && !last.denied(): // the server answered with another error
		return OutcomeFailed
	case last.stage >= sent || errs.first != nil: // the last attempt or one before, and none is open
		return OutcomeRejected
	default:
		return OutcomeUnsent
	}
}

// denied reports whether the server says that it has executed nothing of the command. A retryable overload error says so even without
// the label NoWritesPerformed, which servers before 8.2.6 do not send.
func (a *attempt) denied() bool {
	return a.stage == sent && (a.hasLabel(NoWritesPerformed) || backpressure.IsRetryableOverload(a.err))
}

// open reports whether the server may have executed the command, or part of it, and does not say so: there is no reply, or one that
// can come in the midst of the execution.
func (a *attempt) open() bool {
	if a.stage != sent || a.denied() || a.executed() {
		return false
	}
	e, ok := a.err.(Error)
	switch {
	case !ok || len(e.Raw) == 0: // no reply
		return true
	case e.Code == maxTimeMSExpired || e.Code == interruptedByOperator:
		return true
	default:
		return e.RetryableWrite(nil) || a.hasLabel(ErrSystemOverloadedError) // such as a shutdown, or code 473
	}
}

// interruptedByOperator is the server's error code for a command that killOp ended.
const interruptedByOperator = 11601
