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

// fileFilter returns a filter of a field for exactly this file ID.
func fileFilter(field string, id any) bson.D { return bson.D{{Key: field, Value: onlyFile(id)}} }

// An ID that is a document is compared as a value; operators in it have no effect.
//
//fork:wrap an ID of query operators opened another file
func (b *GridFSBucket) OpenDownloadStream(ctx context.Context, fileID any) (*GridFSDownloadStream, error) {
	return b.upstreamOpenDownloadStream(ctx, onlyFile(fileID))
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
