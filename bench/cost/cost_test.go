// Package cost measures what an operation costs when all is well. It uses only what every compared driver has, and is compiled
// with each of them: make bench WHAT=cost.
package cost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// optionsVariable names the environment's variable that has options of the connection string, which not every driver knows.
const optionsVariable = "BENCH_OPTIONS"

// patience is a deadline that does not pass.
const patience = time.Hour

type operation func(context.Context, *mongo.Collection) error

func BenchmarkFindOne(b *testing.B)   { variants(b, findOne) }
func BenchmarkInsertOne(b *testing.B) { variants(b, insertOne) }

func BenchmarkBulkWrite100(b *testing.B)         { measure(b, connect(b), bulkWrite) }
func BenchmarkCursor10Batches(b *testing.B)      { measure(b, connect(b), readAll) }
func BenchmarkTransaction3Commands(b *testing.B) { measure(b, connect(b), transaction) }

// variants measures an operation plainly, with a context that has a deadline, with a client that has a Timeout, and on as many
// goroutines as there are processors.
func variants(b *testing.B, do operation) {
	b.Run("plain", func(b *testing.B) { measure(b, connect(b), do) })
	b.Run("deadline", func(b *testing.B) {
		measure(b, connect(b), func(ctx context.Context, c *mongo.Collection) error {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			return do(ctx, c)
		})
	})
	b.Run("timeout", func(b *testing.B) {
		measure(b, connect(b, options.Client().SetTimeout(patience)), do)
	})
	b.Run("parallel", func(b *testing.B) {
		c := connect(b)
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := do(context.Background(), c); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}

func measure(b *testing.B, c *mongo.Collection, do operation) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		if err := do(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}

// connect returns a collection of a client that has done an operation: what is done once does not count.
func connect(b *testing.B, more ...*options.ClientOptions) *mongo.Collection {
	b.Helper()
	dialer, err := newDialer()
	if err != nil {
		b.Fatal(err)
	}
	uri := "mongodb://" + address + "/?replicaSet=" + replicaSet + "&" + os.Getenv(optionsVariable)
	all := append([]*options.ClientOptions{options.Client().ApplyURI(uri).SetDialer(dialer)}, more...)
	client, err := mongo.Connect(all...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := client.Disconnect(context.Background()); err != nil {
			b.Error(err)
		}
	})
	c := client.Database("bench").Collection("documents")
	if err := findOne(context.Background(), c); err != nil {
		b.Fatal(err)
	}
	return c
}

func findOne(ctx context.Context, c *mongo.Collection) error {
	var doc bson.Raw
	return c.FindOne(ctx, bson.D{{Key: "_id", Value: 1}}).Decode(&doc)
}

func insertOne(ctx context.Context, c *mongo.Collection) error {
	_, err := c.InsertOne(ctx, document())
	return err
}

func bulkWrite(ctx context.Context, c *mongo.Collection) error {
	models := make([]mongo.WriteModel, bulkSize)
	for i := range models {
		models[i] = mongo.NewInsertOneModel().SetDocument(document())
	}
	result, err := c.BulkWrite(ctx, models)
	if err == nil && result.InsertedCount != bulkSize {
		return fmt.Errorf("the bulk write inserted %d documents, want %d", result.InsertedCount, bulkSize)
	}
	return err
}

func readAll(ctx context.Context, c *mongo.Collection) error {
	found, err := c.Find(ctx, bson.D{}, options.Find().SetBatchSize(batchSize))
	if err != nil {
		return err
	}
	documents := 0
	for found.Next(ctx) {
		documents++
	}
	if documents != batches*batchSize && found.Err() == nil {
		return fmt.Errorf("the cursor returned %d documents, want %d", documents, batches*batchSize)
	}
	return errors.Join(found.Err(), found.Close(ctx))
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
