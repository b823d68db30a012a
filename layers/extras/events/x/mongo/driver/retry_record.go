package driver

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

// operationRun records its attempts.
//
//fork:extend an operation's error, its events and its log lines tell of its attempts
type operationRun struct {
	record record
}

// record is what an operation's error, its events and its log lines say of its attempts.
type record struct {
	attempts, retries int          // of all commands, so far
	reason            retry.Reason // why there was no further retry, if so

	operationID int32 // the request ID of the first attempt
	requestID   int32 // that of the last

	retriesOfCommand int
	announced        bool                     // a retry was announced, though perhaps not made
	notable          bool                     // the last decision, see backpressure.Notable
	unreported       *event.RetryDecidedEvent // for the monitor, once no connection is held
}

var _ watcher = (*operationRun)(nil)

// commandBegins implements the watcher interface.
func (ex *operationRun) commandBegins() {
	ex.record.attempts++
	ex.record.retriesOfCommand = 0
}

// attempted records an attempt.
func (ex *operationRun) attempted(a *attempt) {
	r := &ex.record
	r.requestID = a.requestID
	if r.operationID == 0 {
		r.operationID = a.requestID
	}
	r.reason, r.notable = "", false
}

// decided records the decision after a failed attempt.
func (r *record) decided(v retry.Verdict) {
	if v.Retry {
		r.announced = true
	} else {
		r.reason, r.notable = v.Reason, backpressure.Notable(v.Reason)
	}
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

// hasClass is what a run is, too, whose operation has a class; see layers/extras/throttling.
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
