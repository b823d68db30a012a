package mongo

import (
	"context"
)

// Close closes the download stream. After that, Read returns ErrStreamClosed, and so do further calls of Close, unless no server has
// answered the killCursors: they send it again.
//
// It takes until the deadline of the context with which the stream was opened or, if that has none, as long as the client's Timeout, or
// 10 seconds. If that context has ended, or ends before a killCursors is sent, one is sent nevertheless, for which Close takes at most 2
// seconds more.
//
//fork:replace the cursor was closed with a context unrelated to the stream's
func (ds *GridFSDownloadStream) Close() error {
	// OpenDownloadStream made the stream's context, for the client's Timeout.
	if ds.cancel != nil {
		defer ds.cancel()
	}
	if ds.closed && (ds.cursor == nil || ds.cursor.bc.ID() == 0) {
		return ErrStreamClosed
	}
	ds.closed = true
	if ds.cursor == nil {
		return nil // the file is empty
	}
	return ds.cursor.Close(ds.ctx)
}

// fillBuffer reads the next chunk. A cursor that an error has ended is closed, and nobody sees how that went.
//
//fork:wrap nobody sees the result of its killCursors
func (ds *GridFSDownloadStream) fillBuffer(ctx context.Context) error {
	retErr := ds.upstreamFillBuffer(ctx)
	if ended := ds.cursor; ended.err != nil && !ended.closed && ended.ID() == 0 {
		ended.discard(ctx)
	}
	return retErr
}
