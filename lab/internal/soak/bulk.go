package soak

import (
	"context"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	// bulkInserts is the number of inserts in a bulk write, besides its update.
	bulkInserts = 3
	// arrayLength is the number of numbers in an array before another document is begun.
	arrayLength = 100
)

// bulker does bulk writes.
type bulker struct {
	worker
	pushes *stream
}

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
	models = append(models, mongo.NewUpdateOneModel().SetFilter(bson.D{{Key: "_id", Value: b.name}}).
		SetUpdate(bson.D{{Key: "$push", Value: bson.D{{Key: "n", Value: pushed}}}}).SetUpsert(true))
	result, err := b.collection("bulks").BulkWrite(ctx, models, options.BulkWrite().SetComment(b.comment()))
	if err != nil {
		return err
	}
	for _, n := range inserted {
		b.stream.acknowledge(n)
	}
	b.pushes.acknowledge(pushed)
	if result.InsertedCount != bulkInserts || result.ModifiedCount+result.UpsertedCount != 1 {
		b.report.violation("results that are wrong", "%s: a bulk write of %d inserts and an update: %+v", b.name, bulkInserts, *result)
	}
	return nil
}

// modifier changes a document and reads it at once.
type modifier struct{ worker }

// pushedTo is a document of a modifier.
type pushedTo struct {
	ID string  `bson:"_id"`
	N  []int64 `bson:"n"`
}

// modify appends the next number to an array by findAndModify, and looks for it in the document that this returns.
func (m *modifier) modify(ctx context.Context) error {
	n := m.stream.next()
	var after pushedTo
	err := m.collection("modified").FindOneAndUpdate(ctx,
		bson.D{{Key: "_id", Value: fmt.Sprintf("%s, %d", m.name, n/arrayLength)}},
		bson.D{{Key: "$push", Value: bson.D{{Key: "n", Value: n}}}},
		options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After).SetComment(m.comment())).Decode(&after)
	if err != nil {
		return err
	}
	m.stream.acknowledge(n)
	if !slices.Contains(after.N, n) {
		m.report.violation("results that are wrong", "%s: findAndModify pushed %d and returned %v", m.name, n, after.N)
	}
	return nil
}
