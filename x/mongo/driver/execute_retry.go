package driver

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/internal/throttle"
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

// decision is what is decided after a failed attempt.
type decision struct {
	retry.Verdict
	cause retry.Cause
	ended error // if there is no retry because nobody waits for it any longer: why
}

// afterRejection reports whether the command is sent again because an overloaded server rejected it.
func (d decision) afterRejection() bool { return d.Retry && d.cause.Rejected() }

// decide decides about a retry.
func (ex *operationRun) decide(ctx context.Context, a *attempt, c coverage) decision {
	if c == executed {
		ex.cmd.execution.Succeeded()
		return decision{}
	}
	failure := ex.describe(ctx, a, c)
	d := decision{Verdict: ex.cmd.execution.Failed(failure), cause: failure.Cause}
	if a.held != throttle.Send {
		d.Verdict = afterHolding(a.held, d.Verdict)
	}
	switch {
	case isDisconnected(a.err):
		d = decision{Verdict: retry.Verdict{Reason: retry.Disconnected}, ended: backpressure.ErrDisconnected}
		return d
	case !d.TimeUp:
		return d
	case a.late || a.interrupted():
		d.ended = a.err
	default:
		d.ended = ex.purpose.Err(ctx)
	}
	if d.ended != nil {
		d.Reason = retry.ContextDone
	}
	return d
}

// describe describes a failure to the policy.
func (ex *operationRun) describe(ctx context.Context, a *attempt, c coverage) retry.Failure {
	left := ex.policy.Left(ctx, ex.purpose, ex.backedOff)
	if a.interrupted() || ctx.Err() != nil {
		left = retry.Ended
	}
	return retry.Failure{Cause: ex.cause(a, c), Class: ex.class, Left: left, FirstBackoff: serverFirstBackoff(a.err)}
}

// cause says what failed the attempt. Without a policy there are no overload errors.
func (ex *operationRun) cause(a *attempt, c coverage) retry.Cause {
	overload := ex.policy != nil && a.hasLabel(ErrSystemOverloadedError)
	switch {
	case a.late && ex.cmd.errs.first != nil:
		return retry.Late
	case overload && c == covered:
		return retry.OverloadReadWrite
	case overload && a.hasLabel(ErrRetryableError):
		return retry.Overload
	case overload:
		return retry.Unmarked
	case c == covered && establishmentError(a.err) != nil:
		return retry.Unestablished
	case c == covered:
		return retry.ReadWrite
	case c == optionOff:
		return retry.ReadWriteOff
	default:
		return retry.Other
	}
}

// prepareRetry prepares everything for the next attempt, and waits for the backoff. An error ends the operation.
func (ex *operationRun) prepareRetry(ctx context.Context, a *attempt, d decision) error {
	if a.stage == sent && !backpressure.IsRetryableOverload(a.err) {
		ex.strengthenCommit()
	}
	// After other retryable errors a server is deprioritized only on sharded clusters (retryable-reads.md and retryable-writes.md).
	if a.address != "" && ((d.cause.Rejected() && ex.policy.Retarget) || ex.op.Deployment.Kind() == description.TopologyKindSharded) {
		ex.cmd.deprioritized = append(ex.cmd.deprioritized, description.Server{Addr: a.address})
	}
	if err := ex.unpinForRetry(); err != nil {
		return err
	}
	ex.cmd.errs.record(a)
	ex.reset()
	if err := ex.backOff(ctx, d.Backoff); err != nil {
		return ex.interrupted(a, err, duringBackoff)
	}
	return nil
}

// backOff waits before a retry, once the decision has been reported. It returns the context's error if the context ends first.
func (ex *operationRun) backOff(ctx context.Context, d time.Duration) error {
	ex.reportDecision(ctx)
	if d == 0 {
		return nil
	}
	start := ex.policy.Clock.Now()
	err := ex.policy.Sleep(ctx, ex.purpose, d, ex.backedOff)
	if err != nil {
		d = ex.policy.Clock.Now().Sub(start)
		ex.record.reason = retry.ContextDone
		if isDisconnected(err) {
			ex.record.reason = retry.Disconnected
		}
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

// isHeld returns false for a connection that was returned to the pool, and must not be used any more: a monitor may end the transaction, or
// close the cursor, that it is pinned to, or run a command in that transaction whose error unpins it.
func isHeld(conn *mnet.Connection) bool {
	c, ok := conn.ReadWriteCloser.(Expirable)
	return !ok || c.Alive()
}
