package driver

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/session"
)

// RetryKind is what a command is to the overload retry policy. Like all of this package it may change, or go, in any version.
type RetryKind = retry.Kind

// The kinds of operations that have no Type, and of the cursor of a runCommand. Others need none.
const (
	RetryKindGeneric        = retry.Generic
	RetryKindWrite          = retry.Write
	RetryKindTransactionEnd = retry.TransactionEnd
)

// Operation says what it is to the overload retry policy.
//
//fork:extend the policy has to know writes without a Type, and cursors whether they advanced
type Operation struct {
	// Kind says which of the client's options permits retries after overload errors. Where it is not set, the Type does; without
	// that, too, it is runCommand or unknown.
	Kind RetryKind
	// NotExecuted, if it is set, tells of an operation that failed whether no server has executed its last command: that was not sent,
	// or rejected. Of one that succeeded it is false.
	NotExecuted *bool
}

// kind returns which of the client's options permits retries after overload errors.
func (op Operation) kind() retry.Kind {
	switch {
	case op.Kind != retry.Generic:
		return op.Kind
	case op.Type == Write || op.IsOutputAggregate:
		return retry.Write
	case op.Type == Read:
		return retry.Read
	default:
		return retry.Generic
	}
}

// retryEnabled reports whether the caller asked for retries by the Retryable Reads and Retryable Writes specifications.
func (op Operation) retryEnabled() bool {
	return op.RetryMode != nil && op.RetryMode.Enabled()
}

// commits and aborts report whether the operation ends its transaction. The session alone does not say that: a command monitor may run a
// command of its own in it meanwhile. Nor does the name: an application may run such a command by RunCommand.
func (op Operation) commits() bool {
	return op.Client != nil && op.Client.Committing && op.Name == driverutil.CommitTransactionOp
}

func (op Operation) aborts() bool {
	return op.Client != nil && op.Client.Aborting && op.Name == driverutil.AbortTransactionOp
}

// tellExecuted tells who wants to know whether a server may have executed the last command.
func (op Operation) tellExecuted(executed bool) {
	if op.NotExecuted != nil {
		*op.NotExecuted = !executed
	}
}

// carrier returns what may carry the overload policy of a deployment: of one with a single server, that server.
func carrier(of Deployment) any {
	if single, ok := of.(SingleServerDeployment); ok {
		return single.Server
	}
	return of
}

// loadBalancedCursorDeployment has the policy of the server that the cursor was opened on.
//
//fork:extend commands on a pinned connection had no policy
type loadBalancedCursorDeployment struct {
	backpressure.Carrier
}

// getOperationDeployment passes that policy on.
//
//fork:extend commands on a pinned connection had no policy
func (bc *BatchCursor) getOperationDeployment() Deployment {
	return &loadBalancedCursorDeployment{Carrier: backpressure.CarrierOf(bc.errorProcessor)}
}

// BatchCursor knows what its commands are to the overload retry policy.
//
//fork:extend its getMore and killCursors have no Type; who iterates has to know whether it has moved
type BatchCursor struct {
	// Kind is what its commands are to the overload retry policy: reads or, for a runCommand's cursor, RetryKindGeneric, which needs
	// both retryReads and retryWrites.
	Kind RetryKind

	notExecuted bool // its last command, if that failed
}

// NewBatchCursor makes a cursor whose commands are reads.
//
//fork:extend getMore and killCursors are reads for the overload retry policy
func NewBatchCursor(CursorResponse, *session.Client, *session.ClusterClock, CursorOptions) (*BatchCursor, error) {
	return &BatchCursor{Kind: retry.Read}, nil
}

// getMore has the kind of the cursor.
//
//fork:extend it has no Type
func (bc *BatchCursor) getMore(ctx context.Context) {
	bc.err = Operation{Kind: bc.Kind, NotExecuted: &bc.notExecuted}.Execute(ctx)
}

// KillCursor has the kind of the cursor.
//
//fork:extend it has no Type
func (bc *BatchCursor) KillCursor(ctx context.Context) error {
	return Operation{Kind: bc.Kind, NotExecuted: &bc.notExecuted}.Execute(ctx)
}
