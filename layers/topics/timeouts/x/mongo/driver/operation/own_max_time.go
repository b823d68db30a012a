//fork:base <v2.9.0

package operation

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

//fork:extend a maxTimeMS in a runCommand stays alone
func (c *Command) Execute(ctx context.Context) error {
	return driver.Operation{OwnMaxTime: c.command.Lookup("maxTimeMS").Type != 0}.Execute(ctx)
}

//fork:extend a maxTimeMS among the custom options stays alone
func (a *Aggregate) Execute(ctx context.Context) error {
	return driver.Operation{OwnMaxTime: a.customOptions["maxTimeMS"].Type != 0}.Execute(ctx)
}
