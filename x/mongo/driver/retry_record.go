package driver

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/internal/throttle"
)

// record is what an operation's error, its events and its log lines say of its attempts.
type record struct {
	attempts, retries, throttled int          // of all commands, so far
	reason                       retry.Reason // why there was no further retry, if so

	operationID int32 // the request ID of the first attempt
	requestID   int32 // that of the last

	retriesOfCommand int
	announced        bool                     // a retry was announced, though perhaps not made
	notable          bool                     // the last decision, see retry.Reason.Notable
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
func (r *record) decided(a *attempt, v retry.Verdict) {
	if a.held != throttle.Send {
		r.throttled++
	}
	if v.Retry {
		r.announced = true
	} else {
		r.reason, r.notable = v.Reason, v.Reason.Notable()
	}
}

// retried records that the next attempt is a retry.
func (r *record) retried() {
	r.attempts++
	r.retries++
	r.retriesOfCommand++
}

// error describes the attempts of an operation of a class that has failed.
func (r *record) error(backoff time.Duration, class retry.Criticality) *event.RetryError {
	return &event.RetryError{
		Attempts: r.attempts, Retries: r.retries, Throttled: r.throttled, Backoff: backoff,
		Reason: event.RetryReason(r.reason), Criticality: event.Criticality(class),
	}
}
