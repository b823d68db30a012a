package driver

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// operationRun records its attempts.
//
//fork:extend an operation's error, its events and its log lines tell of its attempts
type operationRun struct {
	record struct {
		attempts, retries int          // of all commands, so far
		reason            retry.Reason // why there was no further retry; empty if none was refused

		operationID int32 // the request ID of the first attempt
		requestID   int32 // that of the last

		retriesOfCommand int                      // of the present one
		announced        bool                     // a retry was announced, though perhaps not made
		notable          bool                     // the last decision, see backpressure.Notable
		unreported       *event.RetryDecidedEvent // for the monitor, once no connection is held
	}
}

var _ watcher = (*operationRun)(nil)

// commandBegins implements the watcher interface.
func (ex *operationRun) commandBegins() {
	ex.record.attempts++ // the first, which is no retry
	ex.record.retriesOfCommand = 0
}

// attempted records an attempt.
func (ex *operationRun) attempted(a *attempt) {
	r := &ex.record
	r.requestID = a.requestID
	if r.operationID == 0 {
		r.operationID = a.requestID
	}
	r.reason, r.notable = "", false // those of the command before, such as a batch that failed
}

// backoffEnded records why a backoff has ended before its time.
func (ex *operationRun) backoffEnded(err error) {
	ex.record.reason = retry.ContextDone
	if isDisconnected(err) {
		ex.record.reason = retry.Disconnected
	}
}

// retried records that the next attempt is a retry.
func (ex *operationRun) retried() {
	r := &ex.record
	r.attempts++
	r.retries++
	r.retriesOfCommand++
}

// retryError describes the attempts of an operation that has failed.
func (ex *operationRun) retryError() *event.RetryError {
	r := &ex.record
	class, withheld := ex.classified()
	return &event.RetryError{
		Attempts: r.attempts, Retries: r.retries, Backoff: ex.backedOff,
		Reason: event.RetryReason(r.reason), Throttled: withheld, Criticality: class,
	}
}

// hasClass is implemented by a run whose operation has a class; see throttling.go.
type hasClass interface {
	// criticality returns the class, and how many attempts were withheld.
	criticality() (event.Criticality, int)
}

// classified returns the class of the operation, and how many attempts were withheld.
func (ex *operationRun) classified() (event.Criticality, int) {
	if classes, ok := any(ex).(hasClass); ok {
		return classes.criticality()
	}
	return event.CriticalityNormal, 0
}

// afterRetries is implemented by errors of other packages that can hold a RetryError and stay of their type.
type afterRetries interface {
	error

	// After returns a copy of the error in which errors.As finds the RetryError.
	After(*event.RetryError) error
}

// withRetryError returns the error with the RetryError in it. Errors whose type cannot hold one are unchanged.
func withRetryError(err error, retries *event.RetryError) error {
	switch e := err.(type) {
	case Error:
		e.account = backpressure.Account{RetryError: retries}
		return e
	case afterRetries:
		return e.After(retries)
	default:
		return err
	}
}

// Error can hold a RetryError.
//
//fork:extend wrapping a RetryError would change the message
type Error struct {
	account backpressure.Account
}

// Its end says how often the command was tried, if there was a backoff.
//
//fork:wrap a message has to tell a command that was retried for seconds from one that failed at once
func (e Error) Error() string {
	text := e.upstreamError()
	return e.account.Message(text)
}

// As lets errors.As find the RetryError.
func (e Error) As(target any) bool { return e.account.As(target) }

// decided records the decision after a failed attempt, logs it, and keeps it for the monitor.
func (ex *operationRun) decided(_ context.Context, a *attempt, v retry.Verdict) {
	if ex.policy == nil || v.Reason == "" { // the command is exempt, or the server executed it
		return
	}
	r := &ex.record
	if v.Retry {
		r.announced = true
	} else {
		r.reason, r.notable = v.Reason, backpressure.Notable(v.Reason)
	}
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
		return err // of an exempt command, about which nothing was recorded
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
		err = nil // it was sent, and whether it failed nobody knows
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
		ex.releaseConnection() // as in mayRelease
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
		redacted.account = e.account // which has nothing that the server said
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
