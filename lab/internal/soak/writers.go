package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	// bulkInserts is the number of inserts in a bulk write, besides its update.
	bulkInserts = 3
	// arrayLength is the number of numbers in an array before another document is begun.
	arrayLength = 100

	accounts       = 8
	initialBalance = 100
)

// record is the document that workers write.
type record struct {
	Worker string `bson:"worker"`
	N      int64  `bson:"n"`
}

// total is the value of a document.
type total struct {
	ID    string `bson:"_id"`
	Value int64  `bson:"value"`
}

// account is one of the accounts.
type account struct {
	ID      int   `bson:"_id"`
	Balance int64 `bson:"balance"`
}

func byID(id any) bson.D { return bson.D{{Key: "_id", Value: id}} }

func change(operator, field string, value any) bson.D {
	return bson.D{{Key: operator, Value: bson.D{{Key: field, Value: value}}}}
}

// inserter inserts documents in a session, whose time others may join.
type inserter struct {
	worker
	session *mongo.Session

	mu          sync.Mutex
	clusterTime bson.Raw        // of the last insert that was acknowledged; nil before
	optime      *bson.Timestamp // the same
}

// insert inserts a document with the next number.
func (w *inserter) insert(ctx context.Context) error {
	n := w.stream.next()
	_, err := w.collection("inserts").InsertOne(mongo.NewSessionContext(ctx, w.session), record{w.name, n},
		options.InsertOne().SetComment(w.comment()))
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stream.acknowledge(n)
	w.clusterTime, w.optime = w.session.ClusterTime(), w.session.OperationTime()
	return nil
}

// join returns the numbers of the acknowledged inserts, after it has advanced a session to the time of the last.
func (w *inserter) join(session *mongo.Session) (acknowledged map[int64]bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, acknowledged = w.stream.snapshot()
	if w.clusterTime != nil {
		err = session.AdvanceClusterTime(w.clusterTime)
	}
	if w.optime != nil && err == nil {
		err = session.AdvanceOperationTime(w.optime)
	}
	return acknowledged, err
}

// push appends the next number to an array, where an update that is done twice shows.
func (w *worker) push(ctx context.Context) error {
	n := w.stream.next()
	_, err := w.collection("updates").UpdateByID(ctx, w.name, change("$push", "n", n),
		options.UpdateOne().SetUpsert(true).SetComment(w.comment()))
	if err == nil {
		w.stream.acknowledge(n)
	}
	return err
}

// transferrer moves money between accounts by transactions.
type transferrer struct {
	worker
	random *rand.Rand
}

// transfer moves some money, and records that with the next number.
func (t *transferrer) transfer(ctx context.Context) error {
	from, to, amount := t.random.IntN(accounts), t.random.IntN(accounts-1), int64(1+t.random.IntN(5))
	if to >= from {
		to++
	}
	n := t.stream.next()
	session, err := t.client.StartSession()
	if err != nil {
		return err
	}
	defer session.EndSession(ctx)
	_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
		for id, by := range map[int]int64{from: -amount, to: amount} {
			if _, err := t.collection("accounts").UpdateByID(ctx, id, change("$inc", "balance", by),
				options.UpdateOne().SetComment(t.comment())); err != nil {
				return nil, err
			}
		}
		return t.collection("transfers").InsertOne(ctx, record{t.name, n}, options.InsertOne().SetComment(t.comment()))
	})
	if err == nil {
		t.stream.acknowledge(n)
	}
	return err
}

// bulker does bulk writes.
type bulker struct {
	worker
	pushes *stream
}

// array is the ID of the document to which it pushes.
func (b *bulker) array() string { return b.name + " pushes" }

// write inserts documents with the next numbers and pushes a number to an array, by one bulk write.
func (b *bulker) write(ctx context.Context) error {
	var models []mongo.WriteModel
	var inserted []int64
	for range bulkInserts {
		n := b.stream.next()
		inserted = append(inserted, n)
		models = append(models, mongo.NewInsertOneModel().SetDocument(record{b.name, n}))
	}
	pushed := b.pushes.next()
	models = append(models, mongo.NewUpdateOneModel().SetFilter(byID(b.array())).SetUpdate(change("$push", "n",
		pushed)).SetUpsert(true))
	result, err := b.collection("bulks").BulkWrite(ctx, models, options.BulkWrite().SetComment(b.comment()))
	if err != nil {
		return err
	}
	for _, n := range inserted {
		b.stream.acknowledge(n)
	}
	b.pushes.acknowledge(pushed)
	if result.InsertedCount != bulkInserts || result.ModifiedCount+result.UpsertedCount != 1 {
		b.report.violation(wrongResults, "%s: a bulk write of %d inserts and an update: %+v", b.name, bulkInserts, *result)
	}
	return nil
}

// modify appends the next number to an array by findAndModify, and looks for it in the document that this returns.
func (w *worker) modify(ctx context.Context) error {
	n := w.stream.next()
	var after struct {
		N []int64 `bson:"n"`
	}
	err := w.collection("modified").FindOneAndUpdate(ctx, byID(fmt.Sprintf("%s, %d", w.name, n/arrayLength)), change("$push", "n", n),
		options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After).SetComment(w.comment())).Decode(&after)
	if err != nil {
		return err
	}
	w.stream.acknowledge(n)
	if !slices.Contains(after.N, n) {
		w.report.violation(wrongResults, "%s: findAndModify pushed %d and returned %v", w.name, n, after.N)
	}
	return nil
}
