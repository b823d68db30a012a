package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// The cursor's commands follow the rules of RunCommand: they are retried after overload errors only if SetRetryReads and SetRetryWrites
// are both true.
//
//fork:wrap the commands of the cursor of a runCommand are, for the overload retry policy, runCommands themselves
func (db *Database) RunCommandCursor(
	ctx context.Context, runCommand any, opts ...options.Lister[options.RunCmdOptions],
) (*Cursor, error) {
	retCursor, retErr := db.upstreamRunCommandCursor(ctx, runCommand, opts...)
	if retErr == nil {
		if bc, ok := retCursor.bc.(*driver.BatchCursor); ok { // which it always is, behind an interface
			bc.Kind = driver.RetryKindGeneric
		}
	}
	return retCursor, retErr
}
