//fork:base >=v2.9.0

package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/session"
)

// The overload retry policy has to know which operations are writes, though they have no Type, and which end a transaction. Events and
// the log name a command before it has been sent. The fields of these literals are added to those in the methods; nothing else of these
// bodies is used. Before v2.9.0 these operations are in x/mongo/driver/operation.

//fork:extend a write, whose name was not set
func (c *createOp) execute(ctx context.Context) error {
	return driver.Operation{Name: driverutil.CreateOp, Kind: driver.RetryKindWrite}.Execute(ctx)
}

//fork:extend a write, whose name was not set
func (csi *createSearchIndexesOp) execute(ctx context.Context) error {
	return driver.Operation{Name: driverutil.CreateSearchIndexesOp, Kind: driver.RetryKindWrite}.Execute(ctx)
}

//fork:extend a write, whose name was not set
func (dsi *dropSearchIndexOp) execute(ctx context.Context) error {
	return driver.Operation{Name: driverutil.DropSearchIndexOp, Kind: driver.RetryKindWrite}.Execute(ctx)
}

//fork:extend a write, whose name was not set
func (usi *updateSearchIndexOp) execute(ctx context.Context) error {
	return driver.Operation{Name: driverutil.UpdateSearchIndexOp, Kind: driver.RetryKindWrite}.Execute(ctx)
}

//fork:extend a write
func (ci *createIndexesOp) execute(ctx context.Context) error {
	return driver.Operation{Kind: driver.RetryKindWrite}.Execute(ctx)
}

//fork:extend a write
func (dc *dropCollectionOp) execute(ctx context.Context) error {
	return driver.Operation{Kind: driver.RetryKindWrite}.Execute(ctx)
}

//fork:extend a write
func (dd *dropDatabaseOp) execute(ctx context.Context) error {
	return driver.Operation{Kind: driver.RetryKindWrite}.Execute(ctx)
}

//fork:extend a write
func (di *dropIndexesOp) execute(ctx context.Context) error {
	return driver.Operation{Kind: driver.RetryKindWrite}.Execute(ctx)
}

//fork:extend it ends a transaction, and is retried whatever the options say
func (ct *commitTransactionOp) execute(ctx context.Context) error {
	return driver.Operation{Kind: driver.RetryKindTransactionEnd}.Execute(ctx)
}

//fork:extend it ends a transaction, and is retried whatever the options say
func (at *abortTransactionOp) execute(ctx context.Context) error {
	return driver.Operation{Kind: driver.RetryKindTransactionEnd}.Execute(ctx)
}

//fork:extend its name was not set
func (db *Database) processRunCommand(
	context.Context, any, ...options.Lister[options.RunCmdOptions],
) (*driver.Operation, *session.Client, error) {
	return &driver.Operation{Name: driverutil.CommandName(runCmdDoc)}, nil, nil // runCmdDoc is a variable of that method
}
