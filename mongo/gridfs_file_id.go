//fork:base <v2.9.1

package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// fileID is the ID of a file as a condition that matches only that ID. An application may let its users choose IDs; an ID that is
// a document of query operators must not match other files.
type fileID bson.D

func onlyFile(id any) any {
	if _, ok := id.(fileID); ok {
		return id
	}
	return fileID{{Key: "$eq", Value: id}}
}

// An ID that is a document is compared as a value; operators in it have no effect.
//
//fork:wrap an ID of query operators opened another file
func (b *GridFSBucket) OpenDownloadStream(ctx context.Context, fileID any) (*GridFSDownloadStream, error) {
	return b.upstreamOpenDownloadStream(ctx, onlyFile(fileID))
}

// An ID that is a document is compared as a value; operators in it have no effect.
//
//fork:wrap an ID of query operators deleted other files
func (b *GridFSBucket) Delete(ctx context.Context, fileID any) error {
	return b.upstreamDelete(ctx, onlyFile(fileID))
}

// An ID that is a document is compared as a value; operators in it have no effect.
//
//fork:wrap an ID of query operators renamed another file
func (b *GridFSBucket) Rename(ctx context.Context, fileID any, newFilename string) error {
	return b.upstreamRename(ctx, onlyFile(fileID), newFilename)
}

// deleteChunks deletes the chunks of a file.
//
//fork:replace an ID of query operators deleted the chunks of other files
func (b *GridFSBucket) deleteChunks(ctx context.Context, fileID any) error {
	_, err := b.chunksColl.DeleteMany(ctx, bson.D{{Key: "files_id", Value: onlyFile(fileID)}})
	return err
}

//fork:wrap an ID of query operators found the chunks of other files
func (b *GridFSBucket) findChunks(ctx context.Context, fileID any) (*Cursor, error) {
	return b.upstreamFindChunks(ctx, onlyFile(fileID))
}

// Abort ends the upload and deletes the chunks that it has written. It returns ErrStreamClosed if the stream is closed.
//
//fork:replace an ID of query operators deleted the chunks of other files
func (us *GridFSUploadStream) Abort() error {
	if us.cancel != nil {
		defer us.cancel()
	}
	if us.closed {
		return ErrStreamClosed
	}
	if _, err := us.chunksColl.DeleteMany(us.ctx, bson.D{{Key: "files_id", Value: onlyFile(us.FileID)}}); err != nil {
		return err
	}
	us.closed = true
	return nil
}
