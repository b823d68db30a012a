package driver

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/session"
)

// BatchCursor knows what its commands are to the overload retry policy.
//
//fork:extend its getMore and killCursors have no Type; who iterates has to know whether it has moved
type BatchCursor struct {
	kind        retry.Kind
	notExecuted bool // its last command, if that failed
}

// NewBatchCursor makes a cursor whose commands are reads.
//
//fork:extend getMore and killCursors are reads for the overload retry policy
func NewBatchCursor(CursorResponse, *session.Client, *session.ClusterClock, CursorOptions) (*BatchCursor, error) {
	return &BatchCursor{kind: retry.Read}, nil
}

// OfRunCommand says that the cursor is that of a runCommand. Its commands follow the rules of that: they are retried after overload
// errors only with both retryReads and retryWrites.
func (bc *BatchCursor) OfRunCommand() { bc.kind = retry.Generic }

// getMore has the kind of the cursor.
//
//fork:extend it has no Type
func (bc *BatchCursor) getMore(ctx context.Context) {
	bc.err = Operation{Kind: bc.kind, NotExecuted: &bc.notExecuted}.Execute(ctx)
}

// KillCursor has the kind of the cursor.
//
//fork:extend it has no Type
func (bc *BatchCursor) KillCursor(ctx context.Context) error {
	return Operation{Kind: bc.kind, NotExecuted: &bc.notExecuted}.Execute(ctx)
}
