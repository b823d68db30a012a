package driver

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/session"
)

// The commands of the cursor of a runCommand follow the rules of runCommand after overload errors: they are retried only with both
// retryReads and retryWrites. So the cursor has to know what it was opened by.

// CursorResponse says whether the cursor is that of a runCommand.
//
//fork:extend the getMore of a runCommand cursor is a runCommand for the overload retry policy
type CursorResponse struct {
	runCommand bool
}

//fork:wrap the getMore of a runCommand cursor is a runCommand for the overload retry policy; a reply without a batch made it panic
func NewCursorResponse(response bsoncore.Document, info ResponseInfo) (CursorResponse, error) {
	cr, err := upstreamNewCursorResponse(response, info)
	if err == nil {
		err = checkCursor(response, cr)
	}
	if err != nil {
		return CursorResponse{}, err
	}
	cr.runCommand = info.runCommand
	return cr, nil
}

// BatchCursor remembers whether it is the cursor of a runCommand.
//
//fork:extend the getMore of a runCommand cursor is a runCommand for the overload retry policy
type BatchCursor struct {
	runCommand bool
}

// NewBatchCursor says whether the cursor is that of a runCommand.
//
//fork:extend the getMore of a runCommand cursor is a runCommand for the overload retry policy
func NewBatchCursor(
	cr CursorResponse, clientSession *session.Client, clock *session.ClusterClock, opts CursorOptions,
) (*BatchCursor, error) {
	return &BatchCursor{runCommand: cr.runCommand}, nil
}

// getMore says whether it is for the cursor of a runCommand.
//
//fork:extend the getMore of a runCommand cursor is a runCommand for the overload retry policy
func (bc *BatchCursor) getMore(ctx context.Context) {
	bc.err = Operation{runCommand: bc.runCommand}.Execute(ctx)
}

// KillCursor says whether it is for the cursor of a runCommand.
//
//fork:extend the killCursors of a runCommand cursor is a runCommand for the overload retry policy
func (bc *BatchCursor) KillCursor(ctx context.Context) error {
	return Operation{runCommand: bc.runCommand}.Execute(ctx)
}
