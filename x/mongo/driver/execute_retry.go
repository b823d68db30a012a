package driver

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/session"
)

// readWriteLimit returns how often the Retryable Reads and Retryable Writes specifications retry a command of this operation:
// once, or under a client-side timeout as often as time allows.
func (op Operation) readWriteLimit(timeout bool) retry.Limit {
	switch {
	case !op.retryEnabled():
		return retry.Never
	case timeout:
		return retry.Unlimited
	case op.Type != Read && (op.Type != Write || op.Client == nil):
		return retry.Never
	case *op.RetryMode == RetryContext:
		return retry.Unlimited
	default:
		return retry.Once
	}
}

// decide decides about a retry.
func (ex *operationRun) decide(ctx context.Context, a *attempt) retry.Verdict {
	a.timeUp = isContextError(a.err) && (ctx.Err() != nil || a.stage != selecting && !a.foreign)
	switch {
	case isDisconnected(a.err):
		return retry.Verdict{Reason: retry.Disconnected}
	case a.tooLate() && ex.cmd.errs.first != nil: // there was no attempt about which to decide
		return retry.Verdict{Reason: retry.ContextDone}
	}
	v := ex.cmd.execution.Failed(ex.describe(ctx, a))
	if a.withheld {
		verdict := ex.gate.verdict(a, v)
		if v.Reason == retry.Overloaded && !verdict.Retry {
			ex.cmd.execution.GiveBack()
		}
		return verdict
	}
	if v.Reason == retry.DeadlineTooClose && (a.timeUp || ex.purpose.Err(ctx) != nil) {
		v.Reason = retry.ContextDone
	}
	return v
}

// describe describes a failure to the policy.
func (ex *operationRun) describe(ctx context.Context, a *attempt) retry.Failure {
	return retry.Failure{
		Cause:        a.cause,
		TimeUp:       a.timeUp || ctx.Err() != nil,
		Left:         ex.policy.Left(ctx, ex.purpose, ex.backedOff),
		FirstBackoff: serverFirstBackoff(a.err),
		Reserve:      ex.gate.reserve(),
	}
}

// prepareRetry prepares everything for the next attempt, and waits for the backoff. An error ends the operation.
func (ex *operationRun) prepareRetry(ctx context.Context, a *attempt, backoff time.Duration) error {
	if a.mayHaveAdvanced() {
		ex.strengthenCommit()
	}
	// After other retryable errors a server is deprioritized only on sharded clusters (retryable-reads.md and retryable-writes.md).
	if a.address != "" && ((a.cause.Rejected() && ex.policy.Retarget) || ex.op.Deployment.Kind() == description.TopologyKindSharded) {
		ex.cmd.deprioritized = append(ex.cmd.deprioritized, description.Server{Addr: a.address})
	}
	if err := ex.unpinForRetry(); err != nil {
		return err
	}
	if ex.results != nil {
		ex.results.retried(a)
	}
	ex.cmd.errs.record(a)
	ex.reset()
	if err := ex.backOff(ctx, backoff); err != nil {
		return ex.interrupted(a, err, duringBackoff)
	}
	return nil
}

// backOff waits before a retry. It returns the context's error if the context ends first.
func (ex *operationRun) backOff(ctx context.Context, d time.Duration) error {
	ex.watcher.mayRelease(ctx)
	if d == 0 {
		return nil
	}
	start := ex.policy.Clock.Now()
	err := ex.policy.Sleep(ctx, ex.purpose, d, ex.backedOff)
	if err != nil {
		d = ex.policy.Clock.Now().Sub(start)
		ex.watcher.backoffEnded(err)
	}
	ex.backedOff += d
	return err
}

// reset returns the connection to the pool and forgets the server, so that the next attempt selects anew.
func (ex *operationRun) reset() {
	ex.releaseConnection()

	// The server did not start the transaction, so the next attempt has to ask for it.
	if client := ex.op.Client; ex.cmd.startsTxn && client.TransactionState == session.InProgress {
		client.TransactionState = session.Starting
	}
}

// isCheckedOut returns false for a connection that was returned to the pool, and must not be used any more: a monitor may end the
// transaction, or close the cursor, that it is pinned to, or run a command in that transaction whose error unpins it.
func isCheckedOut(conn *mnet.Connection) bool {
	c, ok := conn.ReadWriteCloser.(Expirable)
	return !ok || c.Alive()
}
