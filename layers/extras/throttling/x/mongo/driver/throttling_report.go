package driver

import (
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

// The error has the class of the operation, and how many attempts were withheld.
//
//fork:wrap what is withheld depends on the class
func (ex *operationRun) retryError() *event.RetryError {
	retries := ex.upstreamRetryError()
	retries.Throttled, retries.Criticality = ex.throttled, ex.class
	return retries
}

// The event has the class of the operation.
//
//fork:wrap what is withheld depends on the class
func (ex *operationRun) decided(a *attempt, v retry.Verdict) *event.RetryDecidedEvent {
	decided := ex.upstreamDecided(a, v)
	decided.Criticality = ex.class
	return decided
}

// The event has the class of the operation, and how many attempts were withheld.
//
//fork:wrap what is withheld depends on the class
func (ex *operationRun) finished(err error) *event.RetryFinishedEvent {
	finished := ex.upstreamFinished(err)
	finished.Throttled, finished.Criticality = ex.throttled, ex.class
	return finished
}
