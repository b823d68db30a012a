package driver

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// throttlingDeployment returns the deployment that selects the server for the next attempt and may hold it back: with
// adaptiveThrottling, once a server has rejected anything. Otherwise it returns nil. It has a copy of the operation, because what
// it points to is allocated, and nothing is while all is well.
func (ex *operationRun) throttlingDeployment() *throttlingDeployment {
	if !ex.policy.Rejected() || ex.op.neverThrottled() {
		return nil
	}
	return &throttlingDeployment{ex.op.Deployment, ex.op, ex.policy, ex.throttledAttempt()}
}

// throttledAttempt describes the present attempt to a throttle, but for the command, which may not be known yet.
func (ex *operationRun) throttledAttempt() retry.Attempt {
	first := ex.cmd.execution.First()
	return retry.Attempt{
		Criticality: ex.class,
		Command:     ex.key,
		First:       first,
		Kept:        ex.op.neverThrottled() || (first && (ex.op.goesOn() || routed(ex.op.Deployment))),
	}
}

// commandKey returns what the operation's commands are and where they go, by their first element, unless that is known. It builds one
// for that: no server has been chosen yet, and one that knows everything rejects nothing.
func (op Operation) commandKey(known retry.Command) retry.Command {
	if known.Name != "" {
		return known
	}
	key := retry.Command{Name: op.Name, Database: op.Database}
	knowing := description.SelectedServer{
		Server: description.Server{WireVersion: &description.VersionRange{Max: driverutil.MaxWireVersion}},
		Kind:   op.Deployment.Kind(),
	}
	command, err := op.CommandFn(nil, knowing)
	if err != nil {
		return key
	}
	if first, _, ok := bsoncore.ReadElement(command); ok {
		key.Name = first.Key()
		key.Collection, _ = first.Value().StringValueOK()
	}
	return key
}

// countAttempt tells the server's throttle the end of an attempt that was sent at a time, and the attempt what the throttle then knows.
func (ex *operationRun) countAttempt(a *attempt, began time.Time) {
	if !ex.policy.Rejected() {
		return
	}
	_, throttle := backpressure.ThrottleOf(holder(a.server))
	rejected := backpressure.IsRetryableOverload(a.err)
	if !a.telling() || (!rejected && !throttle.Active()) {
		return
	}
	ex.key = ex.op.commandKey(ex.key)
	ended := ex.throttledAttempt()
	ended.Took = ex.replyTime(began)
	throttle.Ended(ended, rejected)
	a.replyTime = throttle.State().ReplyTime
}

// replyTime returns how long the server took for the reply to what was sent at a time: zero if nobody looked at a clock then, because
// nothing had been rejected, or if it may have waited for data or locks.
func (ex *operationRun) replyTime(began time.Time) time.Duration {
	if began.IsZero() || ex.op.goesOn() {
		return 0
	}
	return ex.policy.Now().Sub(began)
}

// telling reports whether the server accepted the attempt, or rejected it because of its load: not if there is no reply, nor if it
// has SystemOverloadedError alone, such as code 473 for a query that was admitted and then stopped.
func (a *attempt) telling() bool {
	switch {
	case isContextError(a.err) || a.hasLabel(NetworkError):
		return false
	default:
		return !a.hasLabel(ErrSystemOverloadedError) || a.hasLabel(ErrRetryableError)
	}
}

// neverThrottled reports whether the command and its retries are always sent: because work at the server would otherwise be lost or
// go on (the end of a transaction, of cursors and sessions), or because no reply tells its outcome. Commands that monitor servers,
// establish connections or authenticate have no overload policy.
func (op Operation) neverThrottled() bool {
	if c := op.Client; c != nil && (c.Committing || c.Aborting) {
		return true
	}
	return op.Legacy == LegacyKillCursors || op.Name == driverutil.EndSessionsOp || !op.WriteConcern.Acknowledged()
}

// goesOn reports whether the server holds something for the command: a cursor, or a transaction. Its first attempt is always sent.
func (op Operation) goesOn() bool {
	if c := op.Client; c != nil && (c.TransactionInProgress() || c.PinnedConnection != nil) {
		return true
	}
	return op.Legacy == LegacyGetMore
}
