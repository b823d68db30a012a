package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// pauseBeforeResume waits before the stream is resumed after an overload error, as long as before a retry of a command. Such an error, if
// it says that the stream can be resumed, but not that the getMore can be sent again, is not covered by the overload retry policy. Without
// a pause, the stream would send aggregates and getMores as fast as the server can end them. If there is no time to wait, it returns
// the overload error.
func (cs *ChangeStream) pauseBeforeResume(ctx context.Context) error {
	policy := backpressure.PolicyOf(cs.client.deployment)
	if policy == nil || !errorHasLabel(cs.err, driver.ErrSystemOverloadedError) {
		return nil
	}
	cs.interrupted++
	pause, purpose := retry.Backoff(policy.FirstBackoff, cs.interrupted, policy.Jitter()), backpressure.PurposeOf(ctx)
	const spent = 0 // no backoff came before
	if pause > policy.Left(ctx, purpose, spent) {
		return cs.err
	}
	if err := policy.Sleep(ctx, purpose, pause, spent); err != nil {
		return backpressure.Interruption{Err: cs.err, When: "interrupted before the change stream was resumed", Cause: err}
	}
	return nil
}

// updatePbrtFromCommand remembers the resume token of a batch without events. If a getMore returned it, the server does not interrupt the
// stream any more.
//
//fork:wrap a getMore that succeeds ends a series of interruptions
func (cs *ChangeStream) updatePbrtFromCommand() {
	if !cs.opened {
		cs.interrupted = 0
	}
	cs.opened = false
	cs.upstreamUpdatePbrtFromCommand()
}
