//fork:base <v2.9.0

package operation

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// The overload retry policy has to know which operations are writes, though they have no Type, and which end a transaction. Events and
// the log name a command before it has been sent. The fields are added to the literals of these methods, whose other fields and statements
// stay; of the bodies here nothing else is used. Since v2.9.0 these operations are in package mongo.

//fork:extend a write, whose name was not set
func (c *Create) Execute(ctx context.Context) error {
	return driver.Operation{Name: driverutil.CreateOp, Kind: driver.RetryKindWrite}.Execute(ctx)
}

//fork:extend a write, whose name was not set
func (csi *CreateSearchIndexes) Execute(ctx context.Context) error {
	return driver.Operation{Name: driverutil.CreateSearchIndexesOp, Kind: driver.RetryKindWrite}.Execute(ctx)
}

//fork:extend a write, whose name was not set
func (dsi *DropSearchIndex) Execute(ctx context.Context) error {
	return driver.Operation{Name: driverutil.DropSearchIndexOp, Kind: driver.RetryKindWrite}.Execute(ctx)
}

//fork:extend a write, whose name was not set
func (usi *UpdateSearchIndex) Execute(ctx context.Context) error {
	return driver.Operation{Name: driverutil.UpdateSearchIndexOp, Kind: driver.RetryKindWrite}.Execute(ctx)
}

//fork:extend a write
func (ci *CreateIndexes) Execute(ctx context.Context) error {
	return driver.Operation{Kind: driver.RetryKindWrite}.Execute(ctx)
}

//fork:extend a write
func (dc *DropCollection) Execute(ctx context.Context) error {
	return driver.Operation{Kind: driver.RetryKindWrite}.Execute(ctx)
}

//fork:extend a write
func (dd *DropDatabase) Execute(ctx context.Context) error {
	return driver.Operation{Kind: driver.RetryKindWrite}.Execute(ctx)
}

//fork:extend a write
func (di *DropIndexes) Execute(ctx context.Context) error {
	return driver.Operation{Kind: driver.RetryKindWrite}.Execute(ctx)
}

//fork:extend it ends a transaction, and is retried whatever the options say
func (ct *CommitTransaction) Execute(ctx context.Context) error {
	return driver.Operation{Kind: driver.RetryKindTransactionEnd}.Execute(ctx)
}

//fork:extend it ends a transaction, and is retried whatever the options say
func (at *AbortTransaction) Execute(ctx context.Context) error {
	return driver.Operation{Kind: driver.RetryKindTransactionEnd}.Execute(ctx)
}

//fork:extend its name was not set
func (c *Command) Execute(ctx context.Context) error {
	return driver.Operation{Name: driverutil.CommandName(c.command)}.Execute(ctx)
}

// The cursor's commands follow the rules of runCommand, see driver.BatchCursor.Kind.
//
//fork:wrap the commands of the cursor of a runCommand are, for the overload retry policy, runCommands themselves
func (c *Command) ResultCursor() (*driver.BatchCursor, error) {
	cursor, err := c.upstreamResultCursor()
	if cursor != nil {
		cursor.Kind = driver.RetryKindGeneric
	}
	return cursor, err
}
