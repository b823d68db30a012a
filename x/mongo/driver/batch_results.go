package driver

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
)

// batchResults gathers what the commands of an operation with Batches did.
type batchResults interface {
	// retried takes note of each failed attempt that is to be retried, before the backoff.
	retried(a *attempt)

	// conclude is told how a command ended: err is its error, and executed the attempt that the server executed, if there is one. It
	// returns no error if the operation goes on.
	conclude(ctx context.Context, a, executed *attempt, err error) error

	// written returns the error of an operation whose last command has not failed.
	written() error

	// change gives each error that it holds to a function, and keeps what that returns.
	change(func(error) error)

	// around returns the operation's error, with what the commands did.
	around(err error) error
}

// keepsResults is implemented by a run that tells of each command what it did; see layers/topics/outcomes.
type keepsResults interface{ keptResults() batchResults }

// newBatchResults returns what gathers the results of the run, or nil if it has no Batches.
func (ex *operationRun) newBatchResults() batchResults {
	if ex.op.Batches == nil {
		return nil
	}
	if keeps, ok := any(ex).(keepsResults); ok {
		return keeps.keptResults()
	}
	return &writeErrors{ex: ex}
}

// withResults returns the operation's error, with what the commands of its Batches did.
func (ex *operationRun) withResults(err error) error {
	if ex.results == nil {
		return err
	}
	return ex.results.around(err)
}

// writeErrors gathers only the errors of writes and write concerns.
type writeErrors struct {
	ex  *operationRun
	all WriteCommandError
}

func (w *writeErrors) conclude(ctx context.Context, a, executed *attempt, err error) error {
	if executed == nil {
		return err
	}
	unread := w.ex.processResponse(ctx, executed, executed.err)
	failed, isWritten := executed.err.(WriteCommandError)
	ends := len(failed.WriteErrors) > 0 && w.ex.ordered() || a.stage != sent
	if isWritten {
		w.add(failed)
	}
	switch e := err.(type) {
	case nil, WriteCommandError:
		if isWritten && ends {
			return w.all
		}
		return unread
	case backpressure.Interruption:
		return e.Around(w.all)
	default:
		return err
	}
}

// add gathers the errors of a command, whose documents it names by their places in the whole write.
func (w *writeErrors) add(failed WriteCommandError) {
	all := w.all.WriteErrors
	for _, e := range failed.WriteErrors {
		e.Index += int64(w.ex.currIndex)
		all = append(all, e)
	}
	if failed.WriteConcernError == nil {
		failed.WriteConcernError = w.all.WriteConcernError
	}
	failed.WriteErrors = all
	w.all = failed
}

func (w *writeErrors) written() error {
	if len(w.all.WriteErrors) == 0 && w.all.WriteConcernError == nil {
		return nil
	}
	return w.all
}

func (*writeErrors) retried(*attempt) {}

func (*writeErrors) change(func(error) error) {}

func (*writeErrors) around(err error) error { return err }

// ordered reports whether a write error of one batch ends the operation before the next.
func (ex *operationRun) ordered() bool {
	ordered := ex.op.Batches.IsOrdered()
	return ordered == nil || *ordered
}
