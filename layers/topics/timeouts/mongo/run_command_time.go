package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// If the command has a maxTimeMS, it is sent as it is. The driver adds none of a deadline or of the Timeout, which still limit the call.
//
//fork:wrap says what happens to a maxTimeMS
func (db *Database) RunCommand(
	ctx context.Context, runCommand any, opts ...options.Lister[options.RunCmdOptions],
) *SingleResult {
	return db.upstreamRunCommand(ctx, runCommand, opts...)
}
