package mongo

import (
	"bytes"
	"context"
	"io"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
)

// foundFile is the reply to a find of a file of GridFS, which has one chunk.
var foundFile = scripted.OK(firstBatch(0, bson.D{
	{Key: "_id", Value: 1}, {Key: "length", Value: 9}, {Key: "chunkSize", Value: 9}, {Key: "filename", Value: "a"},
}))

func content() io.Reader { return bytes.NewReader([]byte("content")) }

func withCursor(use func(context.Context, *Cursor) error) func(context.Context, *Collection) error {
	return func(ctx context.Context, c *Collection) error {
		cursor, err := c.Find(ctx, anything)
		if err != nil {
			return err
		}
		return use(ctx, cursor)
	}
}

func withStream(use func(context.Context, *ChangeStream) error) func(context.Context, *Collection) error {
	return func(ctx context.Context, c *Collection) error {
		stream, err := c.Watch(ctx, Pipeline{})
		if err != nil {
			return err
		}
		return use(ctx, stream)
	}
}

func withDownload(use func(*GridFSDownloadStream) error) func(context.Context, *Collection) error {
	return func(ctx context.Context, c *Collection) error {
		stream, err := c.Database().GridFSBucket().OpenDownloadStream(ctx, 1)
		if err != nil {
			return err
		}
		return use(stream)
	}
}

func listCollectionNames(ctx context.Context, c *Collection) error {
	_, err := c.Database().ListCollectionNames(ctx, anything)
	return err
}

func endTransaction(ctx context.Context, coll *Collection, end func(*Session, context.Context) error) error {
	session, err := coll.client.StartSession()
	if err != nil {
		return err
	}
	if err := session.StartTransaction(); err != nil {
		return err
	}
	if _, err := coll.InsertOne(NewSessionContext(ctx, session), bson.D{}); err != nil {
		return err
	}
	return end(session, ctx)
}

// ending inserts in a transaction, and ends it.
func ending(end func(*Session, context.Context) error) func(context.Context, *Collection) error {
	return func(ctx context.Context, c *Collection) error { return endTransaction(ctx, c, end) }
}

var endSession = func(s *Session, ctx context.Context) error { s.EndSession(ctx); return nil }

func disconnect(ctx context.Context, c *Collection) error {
	if err := c.client.Ping(ctx, nil); err != nil {
		return err
	}
	return c.client.Disconnect(ctx)
}
