package driver

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/csot"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/session"
)

// retryEnabled reports whether the caller asked for retries by the Retryable Reads and Retryable Writes specifications.
func (op Operation) retryEnabled() bool {
	return op.RetryMode != nil && op.RetryMode.Enabled()
}

// readWriteLimit returns how often the Retryable Reads and Retryable Writes specifications retry a command of this operation:
// once, or under a client-side timeout as often as time allows.
func (op Operation) readWriteLimit(ctx context.Context) retry.Limit {
	switch {
	case !op.retryEnabled():
		return retry.Never
	case csot.IsTimeoutContext(ctx):
		return retry.Unlimited
	case op.Type != Read && (op.Type != Write || op.Client == nil):
		return retry.Never
	case *op.RetryMode == RetryContext:
		return retry.Unlimited
	default:
		return retry.Once
	}
}

// describe describes a failure to the retry policy.
func (ex *operationRun) describe(ctx context.Context, fail *failedAttempt) retry.Failure {
	return retry.Failure{
		Overload:     fail.hasErrorLabel(ErrSystemOverloadedError),
		Retryable:    fail.hasErrorLabel(ErrRetryableError),
		ReadWrite:    fail.readWrite,
		ReadWriteOff: fail.readWriteOff,
		Refused:      fail.stage == throttled,
		Remaining:    ex.overload.Remaining(ctx, ex.history.backoff),
		ContextDone:  contextErr(ctx) != nil,
		Interrupted:  fail.contextDone(),
		OutOfTime:    ex.retryTooLate(fail),
		Criticality:  backpressure.CriticalityOf(ctx),

		FirstBackoff: serverFirstBackoff(fail.err),
	}
}

// contextErr returns why nobody waits for another attempt, or nil if somebody does.
func contextErr(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if caller := backpressure.PurposeOf(ctx).Caller; caller != nil {
		return caller.Err()
	}
	return nil
}

// prepareRetry prepares everything for the next attempt, and waits for the backoff. An error ends the operation.
func (ex *operationRun) prepareRetry(ctx context.Context, fail *failedAttempt, verdict retry.Verdict) error {
	if fail.stage == sending && !fail.isRetryableOverloadError() {
		ex.strengthenCommit()
	}
	if (verdict.Reason == retry.Overloaded && ex.overload.Retarget) || ex.op.Deployment.Kind() == description.TopologyKindSharded {
		ex.deprioritize(fail)
	}
	if err := ex.unpinForRetry(); err != nil {
		return err
	}
	ex.reset(fail)
	if err := ex.backOff(ctx, verdict.Backoff); err != nil {
		return ex.interrupted(ctx, ex.errs.toReturn(fail), err, duringBackoff)
	}
	ex.history.retried()
	return nil
}

// contextDone reports whether the operation's context ended the attempt. A connection that was not established in time says
// nothing about that context.
func (fail *failedAttempt) contextDone() bool {
	return fail.stage == sending && isContextError(fail.err)
}

// retryTooLate reports whether there was no time to make the attempt, after another had failed.
func (ex *operationRun) retryTooLate(fail *failedAttempt) bool {
	return fail.late != nil && ex.errs.first != nil
}

// reset records the failure and gives up its server and connection, so that the next attempt selects anew.
func (ex *operationRun) reset(fail *failedAttempt) {
	ex.errs.record(fail)
	ex.releaseConnection()

	// The server did not start the transaction, so the next attempt has to ask for it.
	if client := ex.op.Client; ex.startsTxn && client.TransactionState == session.InProgress {
		client.TransactionState = session.Starting
	}
}

// deprioritize adds the failed server to the deprioritized servers. After an overload error it does so on any topology, if the
// policy retargets; after other retryable errors only on sharded clusters (retryable-reads.md and retryable-writes.md).
func (ex *operationRun) deprioritize(fail *failedAttempt) {
	if server := ex.failedServer(fail); server != "" {
		ex.deprioritized = append(ex.deprioritized, description.Server{Addr: server})
	}
}

// failedServer returns the server of the failed attempt, or the empty address if it is unknown.
func (ex *operationRun) failedServer(fail *failedAttempt) address.Address {
	var establishment connectionError
	switch {
	case fail.server != "":
		return fail.server
	case ex.conn != nil:
		return ex.conn.Description().Addr
	case errors.As(fail.err, &establishment):
		return establishment.ServerAddress()
	default:
		return ""
	}
}

// strengthenCommit makes a repeated commitTransaction wait for the majority, as the first may have committed (transactions.md,
// "Majority write concern is used when retrying commitTransaction"). After an overload error it has not, and the write concern
// stays.
func (ex *operationRun) strengthenCommit() {
	if client := ex.op.Client; client != nil && client.Committing {
		client.UpdateCommitTransactionWriteConcern()
		ex.op.WriteConcern = client.CurrentWc
	}
}

// reauthenticate reauthenticates the connection if the server asks for it. Sending the command again then counts as a retry under
// no policy, because the server has not executed it.
func (ex *operationRun) reauthenticate(ctx context.Context, fail *failedAttempt) (bool, error) {
	const reauthenticationRequired = 391

	serverErr, ok := fail.err.(Error)
	if !ok || fail.stage != sending || serverErr.Code != reauthenticationRequired || ex.op.Authenticator == nil {
		return false, nil
	}
	err := ex.op.Authenticator.Reauth(ctx, &AuthConfig{
		Description:  ex.conn.Description(),
		Connection:   ex.conn,
		ClusterClock: ex.op.Clock,
		ServerAPI:    ex.op.ServerAPI,
	})
	if err != nil {
		return false, fmt.Errorf("error reauthenticating: %w", err)
	}
	ex.strengthenCommit()
	return true, nil
}

// attemptErrors holds the errors of a command's failed attempts that may still be returned.
type attemptErrors struct {
	kind      retry.Kind
	inTxn     bool // the command is one of a transaction, other than its commit or abort
	first     error
	attempted error // the last for which attempted is true
}

// record records the failure of an attempt that is followed by another.
func (errs *attemptErrors) record(fail *failedAttempt) {
	if fail.stage == throttled {
		// The server's word counts more than the client's own decision.
		return
	}
	if errs.first == nil {
		errs.first = fail.err
	}
	if fail.attempted(errs.kind) {
		errs.attempted = fail.err
	}
}

// toReturn returns the error of a command whose last attempt has failed: the last error that shows that an attempt was made, or
// the first error if there is none. For writes, and commands that may be writes, it is the last error after which the server may
// have executed the command (retryable-reads.md, "If a retry attempt fails"; retryable-writes.md, "Executing Retryable Write
// Commands").
//
// If the last attempt says that the transaction has to run again, so does the returned error (transactions.md,
// "TransientTransactionError").
func (errs *attemptErrors) toReturn(last *failedAttempt) error {
	err := errs.relevant(last)
	if errs.inTxn && last.hasErrorLabel(TransientTransactionError) {
		return withLabel(err, TransientTransactionError)
	}
	return err
}

// relevant returns the error for toReturn, without the label.
func (errs *attemptErrors) relevant(last *failedAttempt) error {
	switch {
	case last.attempted(errs.kind) || errs.first == nil:
		return last.err
	case errs.attempted != nil:
		return errs.attempted
	default:
		return errs.first
	}
}
