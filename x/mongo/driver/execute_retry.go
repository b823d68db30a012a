package driver

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
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
	case timeout: // whatever the Type (client-side-operations-timeout.md, "Command Execution")
		return retry.Unlimited
	case op.Type != Read && (op.Type != Write || op.Client == nil): // without a session, a write has no transaction number
		return retry.Never
	case *op.RetryMode == RetryContext:
		return retry.Unlimited
	default:
		return retry.Once
	}
}

// decide decides about a retry.
func (ex *operationRun) decide(ctx context.Context, a *attempt) retry.Verdict {
	a.timeUp = isContextError(a.err) && (ctx.Err() != nil || a.stage != selecting && !a.foreign) // of its context: see attempt
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
			ex.cmd.execution.GiveBack() // of the retry that the gate does not let through
		}
		return verdict
	}
	if v.Reason == retry.DeadlineTooClose && (a.timeUp || ex.purpose.Err(ctx) != nil) {
		v.Reason = retry.ContextDone // the end is not close, but has come
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
	// With Retarget, a rejection deprioritizes the server. On sharded clusters each failure does (retryable-reads.md and
	// retryable-writes.md).
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

// backOff waits before a retry. It returns an error if the wait ends early: see Policy.Sleep.
func (ex *operationRun) backOff(ctx context.Context, d time.Duration) error {
	ex.watcher.mayRelease(ctx)
	if d == 0 { // as always without a policy, which has the clock
		return nil
	}
	start := ex.policy.Clock.Now()
	err := ex.policy.Sleep(ctx, ex.purpose, d, ex.backedOff)
	if err != nil {
		d = ex.policy.Clock.Now().Sub(start) // what has passed of it
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

const (
	reauthenticationRequired = 391 // the server's error code: a credential has expired

	// maxReauthentications is how often connections are reauthenticated for one command, not counting failures. auth.md,
	// "Reauthentication", wants the error of the command that follows to be returned. But that may get another connection, whose
	// credential has expired, too.
	maxReauthentications = 5
)

// reauthenticate reauthenticates the connection if the server asks for it, and reports whether to send the command again at once. That
// counts as a retry under no policy, and the error is forgotten, because the server has not executed the command.
//
// If it fails, that is why the attempt has failed. An overloaded server that rejects it has rejected the command, which may then be
// retried.
func (ex *operationRun) reauthenticate(ctx context.Context, a *attempt) bool {
	serverErr, ok := a.err.(Error)
	if !ok || a.stage != sent || serverErr.Code != reauthenticationRequired || ex.op.Authenticator == nil || !isCheckedOut(a.conn) ||
		ex.cmd.reauthentications == maxReauthentications {
		return false
	}
	err := ex.op.Authenticator.Reauth(ctx, &AuthConfig{
		Description:  a.conn.Description(),
		Connection:   withoutClose(a.conn),
		ClusterClock: ex.op.Clock,
		ServerAPI:    ex.op.ServerAPI,
	})
	if err != nil {
		a.err, a.stage = asReauthenticationError(err), unauthenticated
		return false
	}
	ex.cmd.reauthentications++
	ex.strengthenCommit() // an earlier attempt may have been executed
	// An error with the labels of an overload is left to the overload policy, which has a limit and a backoff.
	return !backpressure.IsRetryableOverload(a.err)
}

// withoutClose returns the connection for commands that do not end it: each would return it to the pool, though it takes several to
// authenticate.
func withoutClose(conn *mnet.Connection) *mnet.Connection {
	kept := *conn
	kept.ReadWriteCloser = unclosed{conn.ReadWriteCloser}
	return &kept
}

type unclosed struct{ mnet.ReadWriteCloser }

func (unclosed) Close() error { return nil }

// asReauthenticationError returns the error of a command whose connection could not be reauthenticated. It has the code of the server's
// error, as applications ask for it.
func asReauthenticationError(err error) Error {
	var server Error
	errors.As(err, &server)
	err = reauthenticationError{err}
	return Error{
		Code: server.Code, Message: err.Error(), Labels: backpressure.LabelsInChain(err), Raw: server.Raw,
		Wrapped: err, repeats: true,
	}
}

// reauthenticationError is why a connection could not be reauthenticated.
type reauthenticationError struct{ cause error }

func (e reauthenticationError) Error() string { return "error reauthenticating: " + e.cause.Error() }
func (e reauthenticationError) Unwrap() error { return e.cause }
