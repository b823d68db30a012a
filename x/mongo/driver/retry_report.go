package driver

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/event"
)

// report records the decision after a failed attempt, logs it, and keeps it for the monitor.
func (ex *operationRun) report(a *attempt, d decision) {
	if ex.policy == nil || d.Reason == "" {
		return
	}
	r := &ex.record
	r.decided(a, d.Verdict)
	log := ex.policy.LogsDecision(r.retriesOfCommand, d.Verdict)
	monitored := ex.policy.Monitor != nil && ex.policy.Monitor.Decided != nil
	if !log && !monitored {
		return
	}
	decided := &event.RetryDecidedEvent{
		CommandName:   ex.op.Name,
		DatabaseName:  ex.op.Database,
		OperationID:   int64(r.operationID),
		RequestID:     int64(r.requestID),
		Attempt:       r.retriesOfCommand + 1,
		ServerAddress: a.address,
		Failure:       ex.reported(a.err),
		WillRetry:     d.Retry,
		Backoff:       d.Backoff,
		Reason:        event.RetryReason(d.Reason),
		Criticality:   event.Criticality(ex.class),
		Tokens:        ex.policy.Tokens(),
	}
	if log {
		ex.policy.LogDecision(decided, a.conn)
	}
	if monitored {
		r.unreported = decided
	}
}

// reportDecision reports the last decision to the monitor, once. It first returns the connection, because the monitor may wait for
// one.
func (ex *operationRun) reportDecision(ctx context.Context) {
	decided := ex.record.unreported
	if decided == nil {
		return
	}
	ex.record.unreported = nil
	ex.releaseConnection()
	ex.policy.Monitor.Decided(ctx, decided)
}

// finish reports the end of the operation and returns its error, with its RetryError.
func (ex *operationRun) finish(ctx context.Context, err error) error {
	if ex.policy == nil {
		return err
	}
	if err != nil && (ex.record.announced || ex.record.notable) {
		retries := ex.record.error(ex.backedOff, ex.class)
		err = withRetryError(err, retries)
		for i := range ex.outcomes {
			ex.outcomes[i].Err = withRetryError(ex.outcomes[i].Err, retries)
		}
	}
	if ex.record.announced {
		ex.reportFinished(ctx, err)
	}
	return err
}

// reportFinished reports the end of an operation for which a retry was announced.
func (ex *operationRun) reportFinished(ctx context.Context, err error) {
	if err == ErrUnacknowledgedWrite {
		err = nil
	}
	log := ex.policy.LogsFinished()
	monitored := ex.policy.Monitor != nil && ex.policy.Monitor.Finished != nil
	if !log && !monitored {
		return
	}
	r := &ex.record
	finished := &event.RetryFinishedEvent{
		CommandName:  ex.op.Name,
		DatabaseName: ex.op.Database,
		OperationID:  int64(r.operationID),
		Attempts:     r.attempts,
		Retries:      r.retries,
		Throttled:    r.throttled,
		Backoff:      ex.backedOff,
		Failure:      ex.reported(err),
		Reason:       event.RetryReason(r.reason),
		Criticality:  event.Criticality(ex.class),
		Tokens:       ex.policy.Tokens(),
	}
	if log {
		ex.policy.LogFinished(finished, int64(r.requestID))
	}
	if monitored {
		ex.releaseConnection()
		ex.policy.Monitor.Finished(ctx, finished)
	}
}
