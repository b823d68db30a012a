// Package workload is the workload for measuring the overhead of a driver. It uses only what every compared driver has.
package workload

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Operation is an operation that is measured. It fails if the reply is not what it expects.
type Operation func(context.Context, *mongo.Collection) error

// Workload is an operation with a name, and the collection that it is for: one that only grows must not be one that is read.
type Workload struct {
	Name       string
	Collection string
	Do         Operation
}

// The collections. Documents has a hundred documents, whose _id is a number from 0 on.
const (
	Documents = "documents"
	Inserted  = "inserted"
)

// The size of the larger workloads.
const (
	bulkSize        = 100
	batchSize       = 10
	cursorDocuments = 100 // that a cursor of ten batches returns
)

// All returns the workloads, in the order of reports.
func All() []Workload {
	return []Workload{
		{"FindOne", Documents, findOne},
		{"InsertOne", Inserted, insertOne},
		{"BulkWrite100", Inserted, bulkWrite},
		{"Cursor10Batches", Documents, cursor},
		{"Transaction3Commands", Documents, transaction},
	}
}

// Fill inserts what the workloads read.
func Fill(ctx context.Context, database *mongo.Database) error {
	documents := make([]any, cursorDocuments)
	for i := range documents {
		documents[i] = append(bson.D{{Key: "_id", Value: i}}, newDocument()...)
	}
	_, err := database.Collection(Documents).InsertMany(ctx, documents)
	return err
}

// Find returns the workload of a name.
func Find(name string) (Workload, error) {
	for _, w := range All() {
		if w.Name == name {
			return w, nil
		}
	}
	return Workload{}, fmt.Errorf("there is no workload %q", name)
}

// Run does n operations on so many goroutines. A goroutine stops at its first error.
func Run(ctx context.Context, do Operation, c *mongo.Collection, goroutines, n int) error {
	var wg sync.WaitGroup
	errs := make([]error, goroutines)
	for g := range goroutines {
		share := n / goroutines
		if g < n%goroutines {
			share++
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := 0; i < share && errs[g] == nil; i++ {
				errs[g] = do(ctx, c)
			}
		}()
	}
	wg.Wait()
	return errors.Join(errs...)
}

func findOne(ctx context.Context, c *mongo.Collection) error {
	var doc bson.Raw
	return c.FindOne(ctx, bson.D{{Key: "_id", Value: 1}}).Decode(&doc)
}

func newDocument() bson.D {
	return bson.D{{Key: "name", Value: "the quick brown fox"}, {Key: "count", Value: int64(1)}}
}

func insertOne(ctx context.Context, c *mongo.Collection) error {
	_, err := c.InsertOne(ctx, newDocument())
	return err
}

func bulkWrite(ctx context.Context, c *mongo.Collection) error {
	models := make([]mongo.WriteModel, bulkSize)
	for i := range models {
		models[i] = mongo.NewInsertOneModel().SetDocument(newDocument())
	}
	result, err := c.BulkWrite(ctx, models)
	if err == nil && result.InsertedCount != bulkSize {
		return fmt.Errorf("the bulk write inserted %d documents, want %d", result.InsertedCount, bulkSize)
	}
	return err
}

func cursor(ctx context.Context, c *mongo.Collection) error {
	found, err := c.Find(ctx, bson.D{}, options.Find().SetBatchSize(batchSize))
	if err != nil {
		return err
	}
	documents := 0
	for found.Next(ctx) {
		documents++
	}
	if err := found.Close(ctx); err != nil {
		return err
	}
	if documents != cursorDocuments && found.Err() == nil {
		return fmt.Errorf("the cursor returned %d documents, want %d", documents, cursorDocuments)
	}
	return found.Err()
}

// transaction sends three commands and the commit.
func transaction(ctx context.Context, c *mongo.Collection) error {
	session, err := c.Database().Client().StartSession()
	if err != nil {
		return err
	}
	defer session.EndSession(ctx)
	_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
		if err := findOne(ctx, c); err != nil {
			return nil, err
		}
		if err := insertOne(ctx, c); err != nil {
			return nil, err
		}
		return c.UpdateOne(ctx, bson.D{{Key: "_id", Value: 1}}, bson.D{{Key: "$set", Value: bson.D{{Key: "count", Value: 2}}}})
	})
	return err
}
