//fork:base <v2.9.0

package operation

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// Execute names the creation of a collection or view.
//
//fork:extend create is a write for the overload retry policy
func (c *Create) Execute(ctx context.Context) error {
	return driver.Operation{Name: driverutil.CreateOp}.Execute(ctx)
}

// Execute names the creation of search indexes.
//
//fork:extend createSearchIndexes is a write for the overload retry policy
func (csi *CreateSearchIndexes) Execute(ctx context.Context) error {
	return driver.Operation{Name: driverutil.CreateSearchIndexesOp}.Execute(ctx)
}

// Execute names the removal of a search index.
//
//fork:extend dropSearchIndex is a write for the overload retry policy
func (dsi *DropSearchIndex) Execute(ctx context.Context) error {
	return driver.Operation{Name: driverutil.DropSearchIndexOp}.Execute(ctx)
}

// Execute names the update of a search index.
//
//fork:extend updateSearchIndex is a write for the overload retry policy
func (usi *UpdateSearchIndex) Execute(ctx context.Context) error {
	return driver.Operation{Name: driverutil.UpdateSearchIndexOp}.Execute(ctx)
}

// Execute names the command.
//
//fork:extend events and the log name a command before it has been sent
func (c *Command) Execute(ctx context.Context) error {
	return driver.Operation{Name: driverutil.CommandName(c.command)}.Execute(ctx)
}
