package driver

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

// retryKind returns which of the client's options permits retries after overload errors. Commands of users (runCommand) have
// neither type nor name, and must not be inspected.
func (op Operation) retryKind(ctx context.Context) retry.Kind {
	if op.cleansUp(ctx) {
		return retry.CleanUp
	}
	if marked, ok := op.Deployment.(markedDeployment); ok {
		return marked.kind
	}
	switch {
	case op.Client != nil && (op.Client.Committing || op.Client.Aborting):
		return retry.TransactionEnd
	case op.Type == Write || op.IsOutputAggregate:
		return retry.Write
	case op.Type == Read || op.Legacy == LegacyGetMore || op.Legacy == LegacyKillCursors:
		return retry.Read
	}
	switch op.Name {
	case driverutil.CreateIndexesOp, driverutil.DropIndexesOp, driverutil.DropOp, driverutil.DropDatabaseOp:
		return retry.Write
	}
	return retry.Generic
}

// cleansUp reports whether the operation's result is ignored.
func (op Operation) cleansUp(ctx context.Context) bool {
	switch {
	case op.Legacy == LegacyKillCursors:
		return ctx.Value(cleanUpKey{}) != nil
	default:
		return op.Name == driverutil.EndSessionsOp
	}
}

// markedDeployment is a deployment for operations whose kind the operation itself does not tell.
type markedDeployment struct {
	Deployment
	kind retry.Kind
}

// OverloadPolicy implements the OverloadRetrier interface.
func (d markedDeployment) OverloadPolicy() *OverloadPolicy { return overloadPolicy(d.Deployment) }

// WriteDeployment returns the deployment for operations that are writes although they have no Type and no Name. A nil
// deployment stays nil.
func WriteDeployment(d Deployment) Deployment { return mark(d, retry.Write) }

func mark(d Deployment, kind retry.Kind) Deployment {
	if d == nil {
		return nil
	}
	if marked, ok := d.(markedDeployment); ok {
		d = marked.Deployment
	}
	return markedDeployment{Deployment: d, kind: kind}
}

// BatchCursor remembers whether it is the cursor of a runCommand.
//
//fork:extend the getMore of a runCommand cursor is a runCommand for the overload retry policy
type BatchCursor struct {
	runCommand bool
}

// MarkRunCommand makes the cursor's commands follow the rules of runCommand after overload errors: they are retried only with
// both retryReads and retryWrites.
func (bc *BatchCursor) MarkRunCommand() { bc.runCommand = true }

// getOperationDeployment returns the deployment for getMore and killCursors.
//
//fork:wrap the getMore of a runCommand cursor is a runCommand for the overload retry policy
//fork:watch BatchCursor.getMore BatchCursor.KillCursor
func (bc *BatchCursor) getOperationDeployment() Deployment {
	deployment := bc.upstreamGetOperationDeployment()
	if bc.runCommand {
		return mark(deployment, retry.Generic)
	}
	return deployment
}
