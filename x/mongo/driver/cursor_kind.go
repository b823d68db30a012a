package driver

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/session"
)

// BatchCursor knows what its commands are to the overload retry policy.
//
//fork:extend its getMore and killCursors have no Type
type BatchCursor struct {
	kind retry.Kind
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

// Discard closes the cursor when nobody looks at the result of the killCursors: it is not retried after overload errors.
func (bc *BatchCursor) Discard(ctx context.Context) error {
	bc.kind = retry.CleanUp
	return bc.Close(ctx)
}

// getMore has the kind of the cursor.
//
//fork:extend it has no Type
func (bc *BatchCursor) getMore(ctx context.Context) {
	bc.err = Operation{Kind: bc.kind}.Execute(ctx)
}

// KillCursor has the kind of the cursor.
//
//fork:extend it has no Type
func (bc *BatchCursor) KillCursor(ctx context.Context) error {
	return Operation{Kind: bc.kind}.Execute(ctx)
}
