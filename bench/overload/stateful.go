package overload

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// openCursors opens a cursor of two documents, one a batch, for each operation that is to get the second: a driver does not go on with a
// cursor that failed.
func (r *run) openCursors(ctx context.Context) error {
	for id := range 2 {
		r.cluster.Put(database+".documents", bson.D{{Key: "_id", Value: id}})
	}
	for i := range r.operations {
		op := &r.operations[i]
		if r.classes[op.class].Command != "getMore" {
			continue
		}
		collection := r.clients[op.client].Database(database).Collection("documents")
		cursor, err := collection.Find(ctx, bson.D{}, options.Find().SetBatchSize(1))
		if err != nil {
			return err
		}
		cursor.Next(ctx)
		op.cursor = cursor
	}
	return nil
}

// inTransaction runs five commands in a transaction.
func inTransaction(ctx context.Context, collection *mongo.Collection, class string) error {
	return collection.Database().Client().UseSession(ctx, func(ctx context.Context) error {
		session := mongo.SessionFromContext(ctx)
		if err := session.StartTransaction(); err != nil {
			return err
		}
		for range 5 {
			if _, err := collection.InsertOne(ctx, bson.D{{Key: "class", Value: class}}); err != nil {
				return errors.Join(err, session.AbortTransaction(ctx))
			}
		}
		return session.CommitTransaction(ctx)
	})
}
