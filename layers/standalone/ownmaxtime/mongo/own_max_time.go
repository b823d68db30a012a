//fork:base >=v2.9.0

package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/session"
)

//fork:extend servers reject a command with two
func (db *Database) processRunCommand(
	context.Context, any, ...options.Lister[options.RunCmdOptions],
) (*driver.Operation, *session.Client, error) {
	return &driver.Operation{OmitMaxTimeMS: runCmdDoc.Lookup("maxTimeMS").Type != 0}, nil, nil
}
