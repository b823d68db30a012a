//fork:base >=v2.9.0

package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/session"
)

// execute names the creation of a collection or view.
//
//fork:extend create is a write for the overload retry policy
func (c *createOp) execute(ctx context.Context) error {
	return driver.Operation{Name: driverutil.CreateOp}.Execute(ctx)
}

// execute names the creation of search indexes.
//
//fork:extend createSearchIndexes is a write for the overload retry policy
func (csi *createSearchIndexesOp) execute(ctx context.Context) error {
	return driver.Operation{Name: driverutil.CreateSearchIndexesOp}.Execute(ctx)
}

// execute names the removal of a search index.
//
//fork:extend dropSearchIndex is a write for the overload retry policy
func (dsi *dropSearchIndexOp) execute(ctx context.Context) error {
	return driver.Operation{Name: driverutil.DropSearchIndexOp}.Execute(ctx)
}

// execute names the update of a search index.
//
//fork:extend updateSearchIndex is a write for the overload retry policy
func (usi *updateSearchIndexOp) execute(ctx context.Context) error {
	return driver.Operation{Name: driverutil.UpdateSearchIndexOp}.Execute(ctx)
}

// processRunCommand names the command.
//
//fork:extend events and the log name a command before it has been sent
func (db *Database) processRunCommand(
	context.Context, any, ...options.Lister[options.RunCmdOptions],
) (*driver.Operation, *session.Client, error) {
	return &driver.Operation{Name: driverutil.CommandName(runCmdDoc)}, nil, nil
}
