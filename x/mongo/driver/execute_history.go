package driver

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// history is an execution's record of its attempts. It counts over all commands of the operation, except retriesOfCommand.
type history struct {
	operationID int32 // the request ID of the first attempt
	requestID   int32 // that of the last

	commands         int
	retries          int
	retriesOfCommand int
	throttled        int
	backoff          time.Duration
	announced        bool                     // a retry was announced, though perhaps not made
	untold           *event.RetryDecidedEvent // for the monitor, once no connection is held
	reason           string                   // why there was no further retry, see event.RetryDecidedEvent
}

func (h *history) startCommand() {
	h.commands++
	h.retriesOfCommand = 0
}

func (h *history) startAttempt(requestID int32) {
	h.requestID = requestID
	if h.operationID == 0 {
		h.operationID = requestID
	}
	h.reason = ""
}

// decided records and logs the decision after a failed attempt.
func (ex *operationRun) decided(fail *failedAttempt, verdict retry.Verdict) {
	if ex.overload == nil {
		return
	}
	reason := retryReason(verdict.Reason)
	if fail.stage == throttled {
		reason = event.RetryReasonThrottled
		ex.history.throttled++
	}
	if verdict.Retry && fail.contextDone() {
		verdict.Retry, verdict.Backoff, reason = false, 0, event.RetryReasonContextDone
	}
	if fail.outOfTime != nil && ex.errs.first != nil {
		reason = event.RetryReasonContextDone
	}
	if verdict.Retry {
		ex.history.announced = true
	} else {
		ex.history.reason = reason
	}

	log := ex.overload.logsDecision(ex.history.retriesOfCommand, verdict.Retry, reason)
	monitored := ex.overload.Monitor != nil && ex.overload.Monitor.Decided != nil
	if !log && !monitored {
		return
	}
	decision := &event.RetryDecidedEvent{
		CommandName:   ex.commandName(),
		DatabaseName:  ex.op.Database,
		OperationID:   int64(ex.history.operationID),
		RequestID:     int64(ex.history.requestID),
		Attempt:       ex.history.retriesOfCommand + 1,
		ServerAddress: ex.failedServer(fail),
		Failure:       fail.err,
		WillRetry:     verdict.Retry,
		Backoff:       verdict.Backoff,
		Reason:        reason,
		Tokens:        ex.overload.tokens(),
	}
	if log {
		ex.overload.logDecision(decision, ex.conn)
	}
	if monitored {
		ex.history.untold = decision
	}
}

// commandName returns the name of the command. An application's command has no name before it has been built, which takes a
// connection; without one it is built here, as for an unknown server. The name is empty if that fails.
func (ex *operationRun) commandName() string {
	if ex.op.Name != "" {
		return ex.op.Name
	}
	start, command := bsoncore.AppendDocumentStart(nil)
	command, err := ex.op.CommandFn(command, description.SelectedServer{})
	if err != nil {
		return ""
	}
	if command, err = bsoncore.AppendDocumentEnd(command, start); err != nil {
		return ""
	}
	return ex.op.getCommandName(command)
}

// tellDecided reports the last decision to the monitor, once. It first returns the connection, because the monitor may wait for
// one.
func (ex *operationRun) tellDecided(ctx context.Context) {
	decision := ex.history.untold
	if decision == nil {
		return
	}
	ex.history.untold = nil
	ex.releaseConnection()
	ex.overload.Monitor.Decided(ctx, decision)
}

// backOff waits before a retry. It returns the context's error if the context ends first.
func (ex *operationRun) backOff(ctx context.Context, d time.Duration) error {
	start := ex.overload.Clock.Now()
	err := ex.overload.sleep(ctx, d)
	if err != nil {
		d = ex.overload.Clock.Now().Sub(start)
		ex.history.reason = event.RetryReasonContextDone
	}
	ex.history.backoff += d
	return err
}

// retried records that the next attempt is a retry.
func (h *history) retried() {
	h.retries++
	h.retriesOfCommand++
}

// finish reports the end of the operation and returns its error, with its RetryError.
func (ex *operationRun) finish(ctx context.Context, err error) error {
	if ex.overload == nil {
		return err
	}
	h := &ex.history
	if err != nil && (h.announced || (h.reason != "" && h.reason != event.RetryReasonNotRetryable)) {
		err = withRetryError(err, &RetryError{
			Attempts:  h.commands + h.retries,
			Retries:   h.retries,
			Throttled: h.throttled,
			Backoff:   h.backoff,
			Reason:    h.reason,
		})
	}
	if h.announced {
		ex.reportFinished(ctx, err)
	}
	return err
}

// reportFinished reports the end of an operation for which a retry was announced.
func (ex *operationRun) reportFinished(ctx context.Context, err error) {
	if err == ErrUnacknowledgedWrite {
		err = nil
	}
	log := ex.overload.logsFinished()
	monitored := ex.overload.Monitor != nil && ex.overload.Monitor.Finished != nil
	if !log && !monitored {
		return
	}
	finished := &event.RetryFinishedEvent{
		CommandName:  ex.commandName(),
		DatabaseName: ex.op.Database,
		OperationID:  int64(ex.history.operationID),
		Attempts:     ex.history.commands + ex.history.retries,
		Retries:      ex.history.retries,
		Throttled:    ex.history.throttled,
		Backoff:      ex.history.backoff,
		Failure:      err,
		Reason:       ex.history.reason,
		Tokens:       ex.overload.tokens(),
	}
	if log {
		ex.overload.logFinished(finished, int64(ex.history.requestID))
	}
	if monitored {
		ex.releaseConnection()
		ex.overload.Monitor.Finished(ctx, finished)
	}
}

// tokens returns the number of tokens left, or nil if there is no bucket.
func (p *OverloadPolicy) tokens() *float64 {
	if p.Policy.Bucket == nil {
		return nil
	}
	tokens := p.Policy.Bucket.Tokens()
	return &tokens
}

// retryReason returns the reason of a verdict as events name it.
func retryReason(reason retry.Reason) string {
	switch reason {
	case retry.Overloaded:
		return event.RetryReasonOverloaded
	case retry.Throttled:
		return event.RetryReasonThrottled
	case retry.RetryableReadWrite:
		return event.RetryReasonRetryable
	case retry.LabelMissing:
		return event.RetryReasonLabelMissing
	case retry.OptionOff:
		return event.RetryReasonOptionOff
	case retry.LimitReached:
		return event.RetryReasonLimit
	case retry.DeadlineTooClose:
		return event.RetryReasonDeadline
	case retry.BucketEmpty:
		return event.RetryReasonBucketEmpty
	case retry.ContextDone:
		return event.RetryReasonContextDone
	default:
		return event.RetryReasonNotRetryable
	}
}
