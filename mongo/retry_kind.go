//fork:base >=v2.9.0

package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/session"
)

// The overload retry policy has to know which operations are writes, though they have no Type, and which end a transaction. Events and
// the log name a command before it has been sent.

//fork:extend a write, and its name
func (c *createOp) execute(ctx context.Context) error {
	return driver.Operation{Name: driverutil.CreateOp, Kind: driver.RetryKindWrite}.Execute(ctx)
}

//fork:extend a write, and its name
func (csi *createSearchIndexesOp) execute(ctx context.Context) error {
	return driver.Operation{Name: driverutil.CreateSearchIndexesOp, Kind: driver.RetryKindWrite}.Execute(ctx)
}

//fork:extend a write, and its name
func (dsi *dropSearchIndexOp) execute(ctx context.Context) error {
	return driver.Operation{Name: driverutil.DropSearchIndexOp, Kind: driver.RetryKindWrite}.Execute(ctx)
}

//fork:extend a write, and its name
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

//fork:extend it ends a transaction
func (ct *commitTransactionOp) execute(ctx context.Context) error {
	return driver.Operation{Kind: driver.RetryKindTransactionEnd}.Execute(ctx)
}

//fork:extend it ends a transaction
func (at *abortTransactionOp) execute(ctx context.Context) error {
	return driver.Operation{Kind: driver.RetryKindTransactionEnd}.Execute(ctx)
}

//fork:extend the name of a runCommand
func (db *Database) processRunCommand(
	context.Context, any, ...options.Lister[options.RunCmdOptions],
) (*driver.Operation, *session.Client, error) {
	return &driver.Operation{Name: driverutil.CommandName(runCmdDoc)}, nil, nil
}

// endSessionsOp knows that an overloaded server rejected a batch.
//
//fork:extend all batches of a client together have the retries of one command
type endSessionsOp struct {
	rejected error
}

// execute sends a batch, unless an earlier one was rejected in the end: then it returns that error. Sessions that nobody ends expire, so
// an overloaded server need not keep the caller waiting for the backoffs of each batch.
//
//fork:wrap all batches of a client together have the retries of one command
func (es *endSessionsOp) execute(ctx context.Context) error {
	if es.rejected != nil {
		return es.rejected
	}
	err := es.upstreamExecute(ctx)
	if backpressure.IsRetryableOverload(err) {
		es.rejected = err
	}
	return err
}
