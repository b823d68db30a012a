package driver

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

// retryKind returns which of the client's options permits retries after overload errors.
func (op Operation) retryKind(ctx context.Context) retry.Kind {
	switch {
	case op.Legacy == LegacyKillCursors && backpressure.PurposeOf(ctx).Ignored:
		return retry.CleanUp
	case op.isRunCommand():
		return retry.Generic
	case op.Client != nil && (op.Client.Committing || op.Client.Aborting):
		return retry.TransactionEnd
	case op.Type == Write || op.IsOutputAggregate:
		return retry.Write
	case op.Type == Read || op.Legacy == LegacyGetMore || op.Legacy == LegacyKillCursors:
		return retry.Read
	}
	switch op.Name {
	case driverutil.CreateOp, driverutil.CreateIndexesOp, driverutil.CreateSearchIndexesOp,
		driverutil.DropOp, driverutil.DropDatabaseOp, driverutil.DropIndexesOp, driverutil.DropSearchIndexOp,
		driverutil.UpdateSearchIndexOp:
		return retry.Write
	}
	return retry.Generic
}

// isRunCommand reports whether the operation is a command of the application, whatever its name. Of the operations without a type,
// only this one has a read preference.
func (op Operation) isRunCommand() bool {
	return op.runCommand || (op.Type == 0 && op.ReadPreference != nil)
}

// Operation knows what it is besides a getMore or killCursors.
//
//fork:extend the getMore of a runCommand cursor is a runCommand for the overload retry policy
type Operation struct {
	// runCommand is set for the commands of the cursor of a runCommand.
	runCommand bool
}

// ResponseInfo says whether the reply is that to a runCommand.
//
//fork:extend the getMore of a runCommand cursor is a runCommand for the overload retry policy
type ResponseInfo struct {
	runCommand bool
}
