//fork:base >=v2.9.0

package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/session"
)

//fork:extend a maxTimeMS among the custom options stays alone
func (a *aggregateOp) execute(ctx context.Context) error {
	return driver.Operation{OwnMaxTime: a.customOptions["maxTimeMS"].Type != 0}.Execute(ctx)
}

//fork:extend a maxTimeMS in a runCommand stays alone
func (db *Database) processRunCommand(
	context.Context, any, ...options.Lister[options.RunCmdOptions],
) (*driver.Operation, *session.Client, error) {
	return &driver.Operation{OwnMaxTime: runCmdDoc.Lookup("maxTimeMS").Type != 0}, nil, nil
}
