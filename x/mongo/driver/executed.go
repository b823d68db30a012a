package driver

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
)

// tellExecuted tells who wants to know whether a server may have executed the last command.
func (op Operation) tellExecuted(executed bool) {
	if op.NotExecuted != nil {
		*op.NotExecuted = !executed
	}
}

// mayHaveAdvanced reports whether a server may have executed the command: it was sent, and not rejected by an overloaded server.
func (a *attempt) mayHaveAdvanced() bool {
	return a.stage == sent && !backpressure.IsRetryableOverload(a.err)
}

// ResponseInfo can have somebody who closes the cursor that the reply opened, because the command failed, or nobody reads more than the
// first batch.
//
//fork:extend such a cursor was known to nobody, and behind a load balancer kept its connection
type ResponseInfo struct {
	discard func(CursorResponse)
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
