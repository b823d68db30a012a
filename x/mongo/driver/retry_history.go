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

// decided records the decision after a failed attempt.
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

	ex.report(ctx, fail, verdict)
}

// backOff waits before a retry, once the decision has been reported. It returns the context's error if the context ends first.
func (ex *operationRun) backOff(ctx context.Context, d time.Duration) error {
	ex.reportDecision(ctx)
	if d == 0 {
		return nil
	}
	start := ex.overload.Clock.Now()
	err := ex.overload.Sleep(ctx, d, ex.history.backoff)
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
