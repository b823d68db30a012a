package driver

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

// report logs the decision after a failed attempt, and keeps it for the monitor.
func (ex *operationRun) report(ctx context.Context, fail *failedAttempt, verdict retry.Verdict) {
	log := ex.overload.LogsDecision(ex.history.retriesOfCommand, verdict.Retry, verdict.Reason)
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
		Criticality:   backpressure.CriticalityOf(ctx).String(),
		Tokens:        ex.overload.Tokens(),
	}
	if log {
		ex.overload.LogDecision(decision, ex.conn)
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

// finish reports the end of the operation and returns its error, with its RetryError.
func (ex *operationRun) finish(ctx context.Context, err error) error {
	if ex.overload == nil {
		return err
	}
	h := &ex.history
	if err != nil && (h.announced || (h.reason != "" && h.reason != retry.NotRetryable)) {
		retries := &RetryError{
			Attempts:  h.commands + h.retries,
			Retries:   h.retries,
			Throttled: h.throttled,
			Backoff:   h.backoff,
			Reason:    string(h.reason),
		}
		if class := backpressure.CriticalityOf(ctx); class != retry.Normal {
			retries.Criticality = class.String()
		}
		err = withRetryError(err, retries)
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
	log := ex.overload.LogsFinished()
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
		Criticality:  backpressure.CriticalityOf(ctx).String(),
		Tokens:       ex.overload.Tokens(),
	}
	if log {
		ex.overload.LogFinished(finished, int64(ex.history.requestID))
	}
	if monitored {
		ex.releaseConnection()
		ex.overload.Monitor.Finished(ctx, finished)
	}
}
