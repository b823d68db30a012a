package driver

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
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
	reason           retry.Reason             // why there was no further retry, see event.RetryDecidedEvent
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
func (ex *operationRun) decided(ctx context.Context, fail *failedAttempt, verdict retry.Verdict) {
	if ex.overload == nil {
		return
	}
	if fail.stage == throttled {
		ex.history.throttled++
	}
	if verdict.Retry {
		ex.history.announced = true
	} else {
		ex.history.reason = verdict.Reason
	}

	log := ex.overload.logsDecision(ex.history.retriesOfCommand, verdict.Retry, verdict.Reason)
	monitored := ex.overload.Monitor != nil && ex.overload.Monitor.Decided != nil
	if !log && !monitored {
		return
	}
	decision := &event.RetryDecidedEvent{
		CommandName:   ex.op.Name,
		DatabaseName:  ex.op.Database,
		OperationID:   int64(ex.history.operationID),
		RequestID:     int64(ex.history.requestID),
		Attempt:       ex.history.retriesOfCommand + 1,
		ServerAddress: ex.failedServer(fail),
		Failure:       fail.err,
		WillRetry:     verdict.Retry,
		Backoff:       verdict.Backoff,
		Reason:        string(verdict.Reason),
		Criticality:   criticality(ctx).String(),
		Tokens:        ex.overload.tokens(),
	}
	if log {
		ex.overload.logDecision(decision, ex.conn)
	}
	if monitored {
		ex.history.untold = decision
	}
}

// reportDecision reports the last decision to the monitor, once. It first returns the connection, because the monitor may wait for
// one.
func (ex *operationRun) reportDecision(ctx context.Context) {
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
	err := ex.overload.sleep(ctx, d, ex.history.backoff)
	if err != nil {
		d = ex.overload.Clock.Now().Sub(start)
		ex.history.reason = retry.ContextDone
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
	if err != nil && (h.announced || (h.reason != "" && h.reason != retry.NotRetryable)) {
		err = withRetryError(err, &RetryError{
			Attempts:  h.commands + h.retries,
			Retries:   h.retries,
			Throttled: h.throttled,
			Backoff:   h.backoff,
			Reason:    string(h.reason),

			Criticality: marked(criticality(ctx).String()),
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
		CommandName:  ex.op.Name,
		DatabaseName: ex.op.Database,
		OperationID:  int64(ex.history.operationID),
		Attempts:     ex.history.commands + ex.history.retries,
		Retries:      ex.history.retries,
		Throttled:    ex.history.throttled,
		Backoff:      ex.history.backoff,
		Failure:      err,
		Reason:       string(ex.history.reason),
		Criticality:  criticality(ctx).String(),
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
	if p.Bucket == nil {
		return nil
	}
	tokens := p.Bucket.Tokens()
	return &tokens
}
