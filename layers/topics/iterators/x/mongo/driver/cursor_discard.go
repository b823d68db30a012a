package driver

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

var _ discarder = (*operationRun)(nil)

// discarding lets the cursor of a reply be closed if the command failed, or nobody reads more than the first batch.
func (ex *operationRun) discarding(ctx context.Context, info ResponseInfo) ResponseInfo {
	if (info.Error != nil || ex.purpose.FirstBatch) && ex.op.Batches == nil {
		info.discard = func(opened CursorResponse) { ex.discard(ctx, opened) }
	}
	return info
}

// ResponseInfo can have somebody who closes the cursor that the reply opened, because the command failed, or nobody reads more than the
// first batch.
//
//fork:extend such a cursor was known to nobody, and behind a load balancer kept its connection
type ResponseInfo struct {
	discard func(CursorResponse)
}

// A cursor that nobody reads to its end is closed.
//
//fork:wrap a cursor that nobody knows kept its connection
func NewCursorResponse(response bsoncore.Document, info ResponseInfo) (CursorResponse, error) {
	cr, retErr := upstreamNewCursorResponse(response, info)
	if retErr == nil && cr.ID != 0 && info.discard != nil {
		info.discard(cr)
		cr.ID, cr.Connection, retErr = 0, nil, info.Error
	}
	if retErr != nil {
		cr = CursorResponse{}
	}
	return cr, retErr
}

// discard closes a cursor that the command has opened, and that nobody else knows. Behind a load balancer it has the command's connection.
func (ex *operationRun) discard(ctx context.Context, opened CursorResponse) {
	batch := *opened.FirstBatch // the caller may read it
	opened.FirstBatch = &batch
	if opened.Connection == nil {
		ex.releaseConnection()
	}
	cursor, err := NewBatchCursor(opened, ex.op.Client, ex.op.Clock, CursorOptions{
		CommandMonitor: ex.op.CommandMonitor, Crypt: ex.op.Crypt, ServerAPI: ex.op.ServerAPI,
	})
	if err == nil {
		own, cancel := backpressure.ForCleanUp(ctx)
		defer cancel()
		_ = cursor.Discard(own)
	}
}
