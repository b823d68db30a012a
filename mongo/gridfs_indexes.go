package mongo

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
)

// createIndexes creates the bucket's two indexes before its first file, unless they are there (gridfs-spec.md, "Before Write Operations").
//
//fork:replace when the second could not be created, the error said that nothing was done
func (b *GridFSBucket) createIndexes(ctx context.Context) error {
	files := b.filesColl.Clone(options.Collection().SetReadPreference(readpref.Primary()))
	onlyID := options.FindOne().SetProjection(bson.D{{Key: "_id", Value: 1}})
	if _, err := files.FindOne(ctx, bson.D{}, onlyID).Raw(); !errors.Is(err, ErrNoDocuments) {
		return err
	}
	byName := IndexModel{Keys: bson.D{{Key: "filename", Value: int32(1)}, {Key: "uploadDate", Value: int32(1)}}}
	if err := createNumericalIndexIfNotExists(ctx, b.filesColl.Indexes(), byName); err != nil {
		return err
	}
	byNumber := IndexModel{
		Keys: bson.D{{Key: "files_id", Value: int32(1)}, {Key: "n", Value: int32(1)}}, Options: options.Index().SetUnique(true),
	}
	return ofLaterCommand(createNumericalIndexIfNotExists(ctx, b.chunksColl.Indexes(), byNumber))
}
