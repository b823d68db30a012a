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

func (r *record) startCommand() {
	r.attempts++
	r.retriesOfCommand = 0
}

// attempted records an attempt.
func (r *record) attempted(requestID int32) {
	r.requestID = requestID
	if r.operationID == 0 {
		r.operationID = requestID
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

// interrupted records why a backoff has ended before its time.
func (r *record) interrupted(err error) {
	r.reason = retry.ContextDone
	if isDisconnected(err) {
		r.reason = retry.Disconnected
	}
}

// retried records that the next attempt is a retry.
func (r *record) retried() {
	r.attempts++
	r.retries++
	r.retriesOfCommand++
}

// retryError describes the attempts of an operation that has failed.
func (ex *operationRun) retryError() *event.RetryError {
	r := &ex.record
	return &event.RetryError{
		Attempts: r.attempts, Retries: r.retries, Backoff: ex.backedOff,
		Reason: event.RetryReason(r.reason),
	}
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

// As lets errors.As find the RetryError.
func (e Error) As(target any) bool { return e.account.As(target) }
