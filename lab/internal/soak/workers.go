package soak

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
)

// readBatch is small, so that a read takes several getMore commands.
const readBatch = 50

// workers do what is done over and over.
type workers struct {
	db     *mongo.Database
	report *Report
	calls  atomic.Int64

	// lists has the numbers that several workers append to arrays, pairs those that transactions append to two arrays at once, and
	// inserts the numbers of the documents that a session inserts and reads.
	lists, pairs, inserts history
	session               *mongo.Session
	steps                 int

	// stream is the change stream of the inserts, resume its token, and seen are the numbers that it delivered.
	stream *mongo.ChangeStream
	resume bson.Raw
	seen   []int64
}

// list is the document with a list, which is replaced by another after some time.
type list struct {
	N []int64 `bson:"n"`
}

// document is what is inserted.
type document struct {
	List int   `bson:"list"`
	N    int64 `bson:"n"`
}

// collections are made before the work, because transactions would make them with difficulty.
var collections = []string{"lists", "left", "right", "inserts"}

// jobs returns the operations.
func (w *workers) jobs() map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"update": w.update, "bulk write": w.bulkWrite, "findAndModify": w.findAndModify, "linearizable read": w.read,
		"transaction": w.transaction, "session": w.step, "change stream": w.watch,
	}
}

// comment returns a comment that no operation had before.
func (w *workers) comment() string { return fmt.Sprintf("operation %d", w.calls.Add(1)) }

func byID(list int) bson.D { return bson.D{{Key: "_id", Value: list}} }

func appends(n int64) bson.D { return bson.D{{Key: "$push", Value: bson.D{{Key: "n", Value: n}}}} }

// push appends the access's number.
func (w *workers) push(ctx context.Context, collection string, a *access) error {
	_, err := w.db.Collection(collection).UpdateOne(ctx, byID(a.list), appends(a.appended[0]),
		options.UpdateOne().SetUpsert(true).SetComment(w.comment()))
	return err
}

func (w *workers) update(ctx context.Context) error {
	return w.lists.do(1, func(a *access) error { return w.push(ctx, "lists", a) })
}

// bulkWrite appends two numbers.
func (w *workers) bulkWrite(ctx context.Context) error {
	return w.lists.do(2, func(a *access) error {
		var models []mongo.WriteModel
		for _, n := range a.appended {
			models = append(models, mongo.NewUpdateOneModel().SetFilter(byID(a.list)).SetUpdate(appends(n)).SetUpsert(true))
		}
		result, err := w.db.Collection("lists").BulkWrite(ctx, models, options.BulkWrite().SetComment(w.comment()))
		if err == nil && result.ModifiedCount+result.UpsertedCount != 2 {
			w.report.violation("results that are wrong", "a bulk write of two updates: %+v", *result)
		}
		return err
	})
}

// findAndModify appends a number, with which the list that it returns ends.
func (w *workers) findAndModify(ctx context.Context) error {
	return w.lists.do(1, func(a *access) error {
		var after list
		err := w.db.Collection("lists").FindOneAndUpdate(ctx, byID(a.list), appends(a.appended[0]),
			options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After).SetComment(w.comment())).Decode(&after)
		if a.read = after.N; err == nil && (len(a.read) == 0 || a.read[len(a.read)-1] != a.appended[0]) {
			w.report.violation("results that are wrong", "findAndModify appended %d and returned %v", a.appended[0], a.read)
		}
		return err
	})
}

// read reads a list, which may not be there yet.
func (w *workers) read(ctx context.Context) error {
	lists := w.db.Collection("lists", options.Collection().SetReadConcern(readconcern.Linearizable()))
	return w.lists.do(0, func(a *access) error {
		var found list
		err := lists.FindOne(ctx, byID(a.list), options.FindOne().SetComment(w.comment())).Decode(&found)
		if a.read = found.N; errors.Is(err, mongo.ErrNoDocuments) {
			return nil
		}
		return err
	})
}

// transaction appends a number to two lists.
func (w *workers) transaction(ctx context.Context) error {
	return w.pairs.do(1, func(a *access) error {
		return w.db.Client().UseSession(ctx, func(ctx context.Context) error {
			_, err := mongo.SessionFromContext(ctx).WithTransaction(ctx, func(ctx context.Context) (any, error) {
				if err := w.push(ctx, "left", a); err != nil {
					return nil, err
				}
				return nil, w.push(ctx, "right", a)
			})
			return err
		})
	})
}

// step inserts a document in a causally consistent session, or reads what the session knows at the primary or at a secondary, in turn.
func (w *workers) step(ctx context.Context) error {
	switch w.steps++; w.steps % 4 {
	case 1:
		return w.list(ctx, readpref.Primary())
	case 3:
		return w.list(ctx, readpref.Secondary())
	default:
		return w.insert(ctx)
	}
}

func (w *workers) insert(ctx context.Context) error {
	return w.inserts.do(1, func(a *access) error {
		_, err := w.db.Collection("inserts").InsertOne(mongo.NewSessionContext(ctx, w.session), document{a.list, a.appended[0]},
			options.InsertOne().SetComment(w.comment()))
		return err
	})
}

// list reads inserts, in order.
func (w *workers) list(ctx context.Context, from *readpref.ReadPref) error {
	ctx = mongo.NewSessionContext(ctx, w.session)
	inserts := w.db.Collection("inserts", options.Collection().SetReadPreference(from).SetReadConcern(readconcern.Majority()))
	return w.inserts.do(0, func(a *access) error {
		cursor, err := inserts.Find(ctx, bson.D{{Key: "list", Value: a.list}},
			options.Find().SetSort(bson.D{{Key: "n", Value: 1}}).SetBatchSize(readBatch).SetComment(w.comment()))
		if err != nil {
			return err
		}
		var documents []document
		err = cursor.All(ctx, &documents)
		for i, d := range documents {
			if a.read = append(a.read, d.N); i > 0 && d.N <= a.read[i-1] {
				w.report.violation("cursors that repeat themselves", "%d after %d", d.N, a.read[i-1])
			}
		}
		return err
	})
}
