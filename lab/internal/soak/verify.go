package soak

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// verify compares what is on the server with what the workers were told. The client goes past the lab.
func (r *run) verify(ctx context.Context, direct *mongo.Client) error {
	db := direct.Database(database)
	inserted, err := numbers(ctx, db.Collection("inserts"))
	if err != nil {
		return err
	}
	entries, err := numbers(ctx, db.Collection("entries"))
	if err != nil {
		return err
	}
	pushed, err := arrays(ctx, db.Collection("updates"))
	if err != nil {
		return err
	}
	for _, w := range r.inserters {
		w.stream.check("insert of "+w.name, inserted[w.name], r.report)
	}
	for _, w := range r.updaters {
		w.stream.check("update of "+w.name, pushed[w.name], r.report)
	}
	for _, w := range r.transactors {
		w.stream.check("transaction of "+w.name, entries[w.name], r.report)
	}
	r.watcher.check(r.inserters, inserted)
	r.attempts.check(r.report)
	return r.verifyTotals(ctx, db.Collection("totals"), entries)
}

// verifyTotals compares the two halves of the transactions.
func (r *run) verifyTotals(ctx context.Context, collection *mongo.Collection, entries map[string][]int64) error {
	cursor, err := collection.Find(ctx, bson.D{})
	if err != nil {
		return err
	}
	var totals []total
	if err := cursor.All(ctx, &totals); err != nil {
		return err
	}
	for _, t := range totals {
		if n := int64(len(entries[t.ID])); t.Value != n {
			r.report.violation("transactions that were half done", "%s: %d counted, %d entries", t.ID, t.Value, n)
		}
	}
	return nil
}

// numbers returns what each worker has in a collection of records.
func numbers(ctx context.Context, collection *mongo.Collection) (map[string][]int64, error) {
	cursor, err := collection.Find(ctx, bson.D{})
	if err != nil {
		return nil, err
	}
	var records []record
	if err := cursor.All(ctx, &records); err != nil {
		return nil, err
	}
	found := make(map[string][]int64)
	for _, r := range records {
		found[r.Worker] = append(found[r.Worker], r.N)
	}
	return found, nil
}

// arrays returns what each worker has pushed.
func arrays(ctx context.Context, collection *mongo.Collection) (map[string][]int64, error) {
	cursor, err := collection.Find(ctx, bson.D{})
	if err != nil {
		return nil, err
	}
	var documents []struct {
		ID string  `bson:"_id"`
		N  []int64 `bson:"n"`
	}
	if err := cursor.All(ctx, &documents); err != nil {
		return nil, err
	}
	found := make(map[string][]int64)
	for _, d := range documents {
		found[d.ID] = d.N
	}
	return found, nil
}
