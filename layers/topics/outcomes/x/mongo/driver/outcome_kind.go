package driver

import "go.mongodb.org/mongo-driver/v2/internal/backpressure"

// retried implements the batchResults interface.
func (out *keptBatches) retried(a *attempt) { out.open = out.open || !a.held && a.open() }

// ended says what the command did whose last attempt is this one.
func (out *keptBatches) ended(last *attempt) OutcomeKind {
	open, errs := out.open || last.open(), &out.cmd.errs
	out.open = false
	switch {
	case errs.executed != nil || last.executed():
		return OutcomeExecuted
	case open:
		return OutcomeUnknown
	case last.stage == sent && !last.denied():
		return OutcomeFailed
	case last.stage >= sent || errs.first != nil:
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
	case !ok || len(e.Raw) == 0:
		return true
	case e.Code == maxTimeMSExpired || e.Code == interruptedByOperator:
		return true
	default:
		return e.RetryableWrite(nil) || a.hasLabel(ErrSystemOverloadedError)
	}
}

// interruptedByOperator is the server's error code for a command that killOp ended.
const interruptedByOperator = 11601
