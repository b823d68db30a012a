package mongo

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// createIndexes creates the bucket's two indexes before its first file, unless they are there (gridfs-spec.md, "Before Write Operations").
//
//fork:replace when the second could not be created, the error said that nothing was done
func (b *GridFSBucket) createIndexes(ctx context.Context) error {
	files := b.filesColl.Clone(options.Collection().SetReadPreference(readpref.Primary()))
	onlyID := options.FindOne().SetProjection(bson.D{{Key: "_id", Value: 1}})
	if _, err := files.FindOne(ctx, bson.D{}, onlyID).Raw(); !errors.Is(err, ErrNoDocuments) {
		return err // or nil: there is a file, and so the indexes are there
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

// createNumericalIndexIfNotExists creates an index of a bucket, unless there is one.
//
//fork:replace nobody sees the result of its killCursors; the client's Timeout is for all commands
func createNumericalIndexIfNotExists(ctx context.Context, indexes IndexView, model IndexModel) error {
	exists, err := hasNumericalIndex(ctx, indexes, model)
	if err == nil && !exists {
		_, err = indexes.CreateOne(ctx, model)
	}
	return err
}

func hasNumericalIndex(ctx context.Context, indexes IndexView, model IndexModel) (bool, error) {
	wanted, err := bson.Marshal(model.Keys)
	if err != nil {
		return false, err
	}
	ctx, cancel := withTimeout(ctx, indexes.coll.client.timeout)
	defer cancel()
	cursor, err := indexes.List(ctx)
	if err != nil {
		return false, err
	}
	defer cursor.discard(ctx)

	for cursor.Next(ctx) {
		value, err := cursor.Current.LookupErr("key")
		if err != nil {
			return false, err
		}
		key, ok := value.DocumentOK()
		if !ok {
			return false, fmt.Errorf("an index of the bucket has a key of type %v, want %v", value.Type,
				bson.TypeEmbeddedDocument)
		}
		if same, err := numericalIndexDocsEqual(wanted, bsoncore.Document(key)); err != nil || same {
			return same, err
		}
	}
	return false, cursor.Err()
}
