package driver

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// decided records the decision after a failed attempt, logs it, and keeps it for the monitor.
func (ex *operationRun) decided(_ context.Context, a *attempt, v retry.Verdict) {
	if ex.policy == nil || v.Reason == "" {
		return
	}
	r := &ex.record
	r.decided(v)
	log := ex.policy.LogsDecision(r.retriesOfCommand, v)
	monitored := ex.policy.Monitor != nil && ex.policy.Monitor.Decided != nil
	if !log && !monitored {
		return
	}
	decided := ex.decidedEvent(a, v)
	if log {
		ex.policy.LogDecision(decided, a.conn)
	}
	if monitored {
		r.unreported = decided
	}
}

// decidedEvent describes the decision after a failed attempt. Until the command has been built, its name is the one that the caller set,
// which may be empty.
func (ex *operationRun) decidedEvent(a *attempt, v retry.Verdict) *event.RetryDecidedEvent {
	r := &ex.record
	class, _ := ex.classified()
	return &event.RetryDecidedEvent{
		CommandName:   ex.op.Name,
		DatabaseName:  ex.op.Database,
		OperationID:   int64(r.operationID),
		RequestID:     int64(r.requestID),
		Attempt:       r.retriesOfCommand + 1,
		ServerAddress: a.address,
		Failure:       ex.reported(a.err),
		WillRetry:     v.Retry,
		Backoff:       v.Backoff,
		Reason:        event.RetryReason(v.Reason),
		Tokens:        ex.policy.Tokens(),
		Criticality:   class,
	}
}

// mayRelease reports the last decision to the monitor, once. It first returns the connection, because the monitor may wait for
// one.
func (ex *operationRun) mayRelease(ctx context.Context) {
	decided := ex.record.unreported
	if decided == nil {
		return
	}
	ex.record.unreported = nil
	ex.releaseConnection()
	ex.policy.Monitor.Decided(ctx, decided)
}

// finished reports the end of the operation and returns its error, with its RetryError.
func (ex *operationRun) finished(ctx context.Context, err error) error {
	if ex.policy == nil {
		return err
	}
	if err != nil && (ex.record.announced || ex.record.notable) {
		retries := ex.retryError()
		err = withRetryError(err, retries)
		if ex.results != nil {
			ex.results.change(func(err error) error { return withRetryError(err, retries) })
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
	finished := ex.finishedEvent(err)
	if log {
		ex.policy.LogFinished(finished, int64(ex.record.requestID))
	}
	if monitored {
		ex.releaseConnection()
		ex.policy.Monitor.Finished(ctx, finished)
	}
}

// finishedEvent describes the end of an operation.
func (ex *operationRun) finishedEvent(err error) *event.RetryFinishedEvent {
	r := &ex.record
	class, withheld := ex.classified()
	return &event.RetryFinishedEvent{
		CommandName:  ex.op.Name,
		DatabaseName: ex.op.Database,
		OperationID:  int64(r.operationID),
		Attempts:     r.attempts,
		Retries:      r.retries,
		Backoff:      ex.backedOff,
		Failure:      ex.reported(err),
		Reason:       event.RetryReason(r.reason),
		Tokens:       ex.policy.Tokens(),
		Throttled:    withheld,
		Criticality:  class,
	}
}

// reported returns an error as events and log lines about retries have it. What a server says to a sensitive command may repeat the
// secret: of such an error only the code, its name and the labels remain (command-logging-and-monitoring.md, "Security"). The commands
// that authenticate are sensitive, so what fails because of them is redacted, too.
func (ex *operationRun) reported(err error) error {
	said, ok := serverError(err)
	if !ok || !ex.sensitive() && !saidToAuthentication(err) {
		return err
	}
	redacted := Error{Code: said.Code, Name: said.Name, Message: "REDACTED", Labels: backpressure.LabelsInChain(err)}
	if e, ok := err.(Error); ok {
		redacted.account = e.account
	}
	return redacted
}

// sensitive reports whether the command is sensitive. A hello counts as one that authenticates.
func (ex *operationRun) sensitive() bool {
	return ex.op.redactCommand(ex.op.Name, bsoncore.NewDocumentBuilder().AppendNull("speculativeAuthenticate").Build())
}

// saidToAuthentication reports whether the error is one of establishing or reauthenticating a connection.
func saidToAuthentication(err error) bool {
	var failed reauthenticationError
	return errors.As(err, &failed) || establishmentError(err) != nil
}

// serverError returns the first error in the chain that is a server's reply.
func serverError(err error) (Error, bool) {
	for ; err != nil; err = errors.Unwrap(err) {
		switch e := err.(type) {
		case Error:
			if e.Raw != nil {
				return e, true
			}
		case WriteCommandError:
			failed := Error{}
			if e.WriteConcernError != nil {
				failed.Code, failed.Name = int32(e.WriteConcernError.Code), e.WriteConcernError.Name
			}
			return failed, true
		}
	}
	return Error{}, false
}
