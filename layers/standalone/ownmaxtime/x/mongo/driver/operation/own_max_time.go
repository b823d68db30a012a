//fork:base <v2.9.0

package operation

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

//fork:extend servers reject a command with two
func (c *Command) Execute(ctx context.Context) error {
	return driver.Operation{OmitMaxTimeMS: c.command.Lookup("maxTimeMS").Type != 0}.Execute(ctx)
}
