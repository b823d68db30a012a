package soak

import (
	"context"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// verify compares the data on the server with what the workers were told. The client bypasses the lab.
func (r *run) verify(ctx context.Context, direct *mongo.Client) error {
	db, f := direct.Database(r.config.Database), &r.work
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
	r.compare("insert", streams(f.inserters), inserted)
	r.compare("update", streams(f.updaters), pushed)
	r.compare("transaction", streams(f.transactors), entries)
	f.watcher.check(f.inserters, inserted)
	r.attempts.check(r.report)
	if err := r.verifyTotals(ctx, db.Collection("totals"), entries); err != nil || !r.real() {
		return err
	}
	return r.verifyCritics(ctx, db)
}

func (r *run) compare(kind string, streams map[string]*stream, found map[string][]int64) {
	for name, s := range streams {
		s.check(kind+" of "+name, found[name], r.report)
	}
}

// verifyCritics is verify for the workloads that need real members.
func (r *run) verifyCritics(ctx context.Context, db *mongo.Database) error {
	f := &r.work
	bulks, err := numbers(ctx, db.Collection("bulks"))
	if err != nil {
		return err
	}
	pushed, err := arrays(ctx, db.Collection("bulks"))
	if err != nil {
		return err
	}
	modified, err := arrays(ctx, db.Collection("modified"))
	if err != nil {
		return err
	}
	transfers, err := numbers(ctx, db.Collection("transfers"))
	if err != nil {
		return err
	}
	r.compare("bulk insert", streams(f.bulkers), bulks)
	for _, b := range f.bulkers {
		b.pushes.check("bulk update of "+b.name, pushed[b.name], r.report)
	}
	r.compare("findAndModify", streams(f.modifiers), modified)
	r.compare("transfer", streams(f.transferrers), transfers)
	sum, count, err := addUp(ctx, db.Collection("accounts"))
	if err != nil {
		return err
	}
	(&auditor{worker: worker{report: r.report}}).checkSum("the end", sum, count)
	f.registers.check(r.report)
	return r.verifyFiles(ctx, bucket(db))
}

// verifyFiles reads all files whose storing was acknowledged.
func (r *run) verifyFiles(ctx context.Context, b *mongo.GridFSBucket) error {
	files := 0
	for _, f := range r.work.filers {
		_, stored := f.stream.snapshot()
		for n := range stored {
			if err := f.compare(ctx, b, n); err != nil {
				return err
			}
			files++
		}
	}
	r.report.note("%d files were read again", files)
	return nil
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

// numbers returns each worker's numbers in a collection of records.
func numbers(ctx context.Context, collection *mongo.Collection) (map[string][]int64, error) {
	cursor, err := collection.Find(ctx, bson.D{{Key: "worker", Value: bson.D{{Key: "$exists", Value: true}}}})
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

// arrays returns the numbers that each worker has pushed. A document has the worker's name, possibly followed by a number.
func arrays(ctx context.Context, collection *mongo.Collection) (map[string][]int64, error) {
	cursor, err := collection.Find(ctx, bson.D{{Key: "worker", Value: bson.D{{Key: "$exists", Value: false}}}})
	if err != nil {
		return nil, err
	}
	var documents []pushedTo
	if err := cursor.All(ctx, &documents); err != nil {
		return nil, err
	}
	found := make(map[string][]int64)
	for _, d := range documents {
		name, _, _ := strings.Cut(d.ID, ",")
		found[name] = append(found[name], d.N...)
	}
	return found, nil
}
