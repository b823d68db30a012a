package driver

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// Unmoved reports, after Next has failed, whether the cursor is open and where it was before: its getMore was not sent, or the server
// rejected it. Another Next then goes on. Without a reply nobody knows what the server has handed out. See Operation.NotExecuted.
func (bc *BatchCursor) Unmoved() bool { return bc.id != 0 && bc.notExecuted }

// Unreadable reports, after Next has failed, whether a reply to its getMore came that cannot be read. The errors of servers and of
// connections are of type Error.
func (bc *BatchCursor) Unreadable() bool {
	var failed Error
	return bc.err != nil && !bc.notExecuted && !errors.As(bc.err, &failed) && !isContextError(bc.err)
}

// Close closes the cursor, also on the server unless it is exhausted. If the context has ended, or ends before the killCursors is sent,
// that is tried once more, for at most 2 seconds. Until a server has answered it, the cursor keeps its ID, and may be closed again,
// except behind a load balancer.
//
//fork:replace the ID was forgotten though no killCursors was sent, as with a context that has ended
func (bc *BatchCursor) Close(ctx context.Context) error {
	if ctx == nil {
		ctx = context.Background()
	}
	var err error
	unsent := ctx.Err() != nil
	if !unsent {
		err = bc.kill(ctx, bc.Kind)
		unsent = bc.notExecuted && (ctx.Err() != nil || errors.Is(err, ErrDeadlineWouldBeExceeded))
	}
	if unsent && !backpressure.IsRetryableOverload(err) { // a killCursors that was rejected has had its retries
		own, cancel := backpressure.ForCleanUp(ctx)
		defer cancel()
		switch late := bc.kill(own, retry.CleanUp); {
		case late == nil:
			err = nil
		case err == nil: // the context had ended before
			const when = "closing the cursor after the end of its context"
			err = backpressure.Interruption{Err: late, When: when, Cause: ctx.Err()}
		}
	}
	return bc.release(err)
}

// Discard closes the cursor when nobody looks at the result of the killCursors: it is not retried after overload errors.
func (bc *BatchCursor) Discard(ctx context.Context) error {
	return bc.release(bc.kill(ctx, retry.CleanUp))
}

// kill sends a killCursors, unless the cursor is exhausted. Once a server has answered it, the cursor has no ID.
func (bc *BatchCursor) kill(ctx context.Context, kind retry.Kind) error {
	if bc.server == nil || bc.id == 0 { // without a server it is one of a list in memory
		return nil
	}
	if bc.clientSession != nil && bc.clientSession.Terminated {
		bc.clientSession = nil // a killCursors needs none
	}
	own := bc.Kind
	bc.Kind = kind // by which KillCursor is retried, or not
	err := bc.KillCursor(ctx)
	bc.Kind = own
	var failed Error
	if err == nil || !bc.notExecuted && errors.As(err, &failed) && !failed.HasErrorLabel(NetworkError) {
		bc.id = 0
	}
	return err
}

// release gives up the batch and, behind a load balancer, the connection, whatever became of the killCursors (load-balancers.md,
// "Connection Pinning"). Without its connection, such a cursor cannot be closed any more. If a reply was lost, no command may close it, but
// the end of its connection does.
func (bc *BatchCursor) release(err error) error {
	bc.currentBatch.List = nil
	if bc.connection == nil {
		return err
	}
	bc.id = 0
	var failed Error
	if errors.As(bc.err, &failed) && failed.NetworkError() {
		if pinned, ok := bc.connection.ReadWriteCloser.(Expirable); ok {
			_ = pinned.Expire()
		}
	}
	if connErr := bc.unpinConnection(); err == nil {
		err = connErr
	}
	return err
}

var _ discarder = (*operationRun)(nil) // as which operationRun.processResponse finds it

// discarding lets the cursor of a reply be closed if the command failed, or nobody reads more than the first batch.
func (ex *operationRun) discarding(ctx context.Context, info ResponseInfo) ResponseInfo {
	if (info.Error != nil || ex.purpose.FirstBatch) && ex.op.Batches == nil { // a client bulk write closes its cursor itself
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
	cr, err := upstreamNewCursorResponse(response, info)
	if err != nil || cr.ID == 0 || info.discard == nil {
		return cr, err
	}
	info.discard(cr)
	return CursorResponse{FirstBatch: cr.FirstBatch}, info.Error
}

// discard closes a cursor that the command has opened, and that nobody else knows. Behind a load balancer it has the command's connection.
func (ex *operationRun) discard(ctx context.Context, opened CursorResponse) {
	batch := *opened.FirstBatch // the caller may read it
	opened.FirstBatch = &batch
	if opened.Connection == nil {
		ex.releaseConnection() // which the killCursors may need, if the pool has no other
	}
	opts := CursorOptions{CommandMonitor: ex.op.CommandMonitor, ServerAPI: ex.op.ServerAPI}
	cursor, err := NewBatchCursor(opened, ex.op.Client, ex.op.Clock, opts)
	if err == nil { // otherwise there is nothing to close it with
		own, cancel := backpressure.ForCleanUp(ctx)
		defer cancel()
		_ = cursor.Discard(own)
	}
}
