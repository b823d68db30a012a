package driver

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

// Unmoved reports, after Next has failed, whether the cursor is open and where it was before: its getMore was not sent, or the server
// rejected it. Another Next then goes on. Without a reply nobody knows what the server has handed out.
func (bc *BatchCursor) Unmoved() bool { return bc.id != 0 && bc.notExecuted }

// Unreadable reports, after Next has failed, whether a reply to its getMore came that cannot be read. The errors of servers and of
// connections are of type Error.
func (bc *BatchCursor) Unreadable() bool {
	var failed Error
	return bc.err != nil && !bc.notExecuted && !errors.As(bc.err, &failed) && !isContextError(bc.err)
}

// Close closes the cursor, also on the server unless it is exhausted. If the context has ended, or ends before the killCursors is sent,
// that is tried once more, for at most 2 seconds. Unless a server may have executed it, the cursor keeps its ID, and may be closed again.
//
//fork:replace the ID was forgotten though no killCursors was sent, as with a context that has ended
func (bc *BatchCursor) Close(ctx context.Context) error {
	if ctx == nil {
		ctx = context.Background()
	}
	var err error
	if ctx.Err() == nil {
		err = bc.kill(ctx)
	}
	late := ctx.Err() != nil || errors.Is(err, ErrDeadlineWouldBeExceeded)
	if late && bc.openOnServer() && !backpressure.IsRetryableOverload(err) {
		err = bc.killInOwnTime(ctx)
	}
	return bc.release(err)
}

// Discard closes the cursor when nobody looks at the result of the killCursors: it takes at most 2 seconds, whatever the context, and
// is not retried after overload errors.
func (bc *BatchCursor) Discard(ctx context.Context) error { return bc.release(bc.killInOwnTime(ctx)) }

// Leave is like Discard, but for as long as the context lasts.
func (bc *BatchCursor) Leave(ctx context.Context) error { return bc.release(bc.killUnseen(ctx)) }

// openOnServer reports whether the server still has the cursor, as far as is known.
func (bc *BatchCursor) openOnServer() bool { return bc.server != nil && bc.id != 0 }

// kill sends a killCursors, after which the cursor has no ID.
func (bc *BatchCursor) kill(ctx context.Context) error {
	if !bc.openOnServer() {
		return nil
	}
	if bc.clientSession != nil && bc.clientSession.Terminated {
		bc.clientSession = nil // a killCursors needs none
	}
	err := bc.KillCursor(ctx)
	if !bc.notExecuted {
		bc.id = 0
	}
	return err
}

func (bc *BatchCursor) killInOwnTime(ctx context.Context) error {
	own, cancel := backpressure.ForCleanUp(ctx)
	defer cancel()
	return bc.killUnseen(own)
}

// killUnseen sends a killCursors that is not retried after overload errors.
func (bc *BatchCursor) killUnseen(ctx context.Context) error {
	kind := bc.kind
	defer func() { bc.kind = kind }()
	bc.kind = retry.CleanUp
	return bc.kill(ctx)
}

// release gives up the batch and the connection. Without its connection, a cursor behind a load balancer cannot be closed any more.
func (bc *BatchCursor) release(err error) error {
	bc.currentBatch.List = nil
	bc.currentBatch.Reset()
	if bc.connection == nil {
		return err
	}
	bc.id = 0
	if connErr := bc.unpinConnection(); err == nil {
		err = connErr
	}
	return err
}
