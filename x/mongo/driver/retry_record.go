package driver

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

// RetryError describes the attempts that an operation made before it failed. errors.As finds it in errors of operations that were
// retried, or would have been but for a limit, a deadline, an option, a missing label or an empty token bucket. It only describes
// another error: no operation returns it, and errors.Unwrap never leads to it, so types and comparisons are the same as without it.
// If there was a backoff, the other error's message ends with what this one says.
//
// Errors that hold the result of a write do not have one, nor do sentinel values such as mongo.ErrClientDisconnected.
type RetryError struct {
	// Attempts is the number of attempts, of which Retries were retries. They differ by 1, or for an operation sent in batches by
	// the number of batches.
	Attempts int
	Retries  int
	// Throttled is the number of attempts that adaptiveThrottling held back.
	Throttled int
	// Backoff is the time spent waiting before retries.
	Backoff time.Duration
	// Reason is why there was no further retry, one of the event.RetryReason constants. It is empty if the server executed
	// the last command.
	Reason string
	// Criticality is the class of the operation, "sheddable" or "critical". It is empty if the operation is a normal one.
	Criticality string
}

// record is what an operation's error, its events and its log lines say of its attempts.
type record struct {
	RetryError // over all commands, so far

	operationID int32 // the request ID of the first attempt
	requestID   int32 // that of the last

	retriesOfCommand int
	announced        bool                     // a retry was announced, though perhaps not made
	notable          bool                     // the last decision, see retry.Reason.Notable
	unreported       *event.RetryDecidedEvent // for the monitor, once no connection is held
}

func (r *record) startCommand() {
	r.Attempts++
	r.retriesOfCommand = 0
}

// attempted records an attempt.
func (r *record) attempted(requestID int32) {
	r.requestID = requestID
	if r.operationID == 0 {
		r.operationID = requestID
	}
	r.Reason, r.notable = "", false
}

// decided records the decision after a failed attempt.
func (r *record) decided(a *attempt, v retry.Verdict) {
	if a.stage == heldBack {
		r.Throttled++
	}
	if v.Retry {
		r.announced = true
	} else {
		r.Reason, r.notable = string(v.Reason), v.Reason.Notable()
	}
}

// retried records that the next attempt is a retry.
func (r *record) retried() {
	r.Attempts++
	r.Retries++
	r.retriesOfCommand++
}
