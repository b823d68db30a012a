//fork:base <v2.9.0

package operation

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// Execute creates the collection or view.
//
//fork:wrap create is a write for the overload retry policy
func (c *Create) Execute(ctx context.Context) error {
	c.deployment = driver.WriteDeployment(c.deployment)
	return c.upstreamExecute(ctx)
}

// Execute creates the search indexes.
//
//fork:wrap createSearchIndexes is a write for the overload retry policy
func (csi *CreateSearchIndexes) Execute(ctx context.Context) error {
	csi.deployment = driver.WriteDeployment(csi.deployment)
	return csi.upstreamExecute(ctx)
}

// Execute drops the search index.
//
//fork:wrap dropSearchIndex is a write for the overload retry policy
func (dsi *DropSearchIndex) Execute(ctx context.Context) error {
	dsi.deployment = driver.WriteDeployment(dsi.deployment)
	return dsi.upstreamExecute(ctx)
}

// Execute updates the search index.
//
//fork:wrap updateSearchIndex is a write for the overload retry policy
func (usi *UpdateSearchIndex) Execute(ctx context.Context) error {
	usi.deployment = driver.WriteDeployment(usi.deployment)
	return usi.upstreamExecute(ctx)
}

// ResultCursor returns the cursor that the command opened. It returns an error if the Command was not made by
// NewCursorCommand.
//
//fork:wrap the cursor of a runCommand follows runCommand's rules
func (c *Command) ResultCursor() (*driver.BatchCursor, error) {
	cursor, err := c.upstreamResultCursor()
	if cursor != nil {
		cursor.MarkRunCommand()
	}
	return cursor, err
}
