// Package cost measures what an operation costs when all is well. It uses only what every compared driver has, and is compiled
// with each of them: make bench WHAT=cost.
package cost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
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

func BenchmarkUpdateOne(b *testing.B) { measure(b, connect(b), updateOne) }

// BenchmarkInsertMany1000 inserts documents that have an _id, which the result names, and ones that the driver gives one.
func BenchmarkInsertMany1000(b *testing.B) {
	b.Run("id", func(b *testing.B) { measure(b, connect(b), insertMany) })
	b.Run("noid", func(b *testing.B) { measure(b, connect(b), insertManyWithoutID) })
}

// BenchmarkAll1000 decodes documents of one batch.
func BenchmarkAll1000(b *testing.B) {
	b.Run("raw", func(b *testing.B) { measure(b, connect(b), decodeAll[bson.Raw]) })
	b.Run("struct", func(b *testing.B) { measure(b, connect(b), decodeAll[record]) })
	b.Run("map", func(b *testing.B) { measure(b, connect(b), decodeAll[bson.M]) })
}

// BenchmarkServerAll1000 reads the documents from the server in MONGODB_URI, to show what is left of the gain with a real one.
func BenchmarkServerAll1000(b *testing.B) {
	uri := os.Getenv("MONGODB_URI")
	if uri == "" {
		b.Skip("MONGODB_URI names no server")
	}
	c := open(b, options.Client().ApplyURI(uri))
	if err := c.Drop(b.Context()); err != nil {
		b.Fatal(err)
	}
	if err := insertMany(b.Context(), c); err != nil {
		b.Fatal(err)
	}
	measure(b, c, decodeAll[record])
}

func BenchmarkBulkWrite100(b *testing.B)         { measure(b, connect(b), bulkWrite) }
func BenchmarkClientBulkWrite100(b *testing.B)   { measure(b, connect(b), clientBulkWrite) }
func BenchmarkCursor10Batches(b *testing.B)      { measure(b, connect(b), readAll) }
func BenchmarkTransaction3Commands(b *testing.B) { measure(b, connect(b), transaction) }

// variants measures an operation with a context that can be cancelled, one that cannot, and one that has a deadline, with a client that
// has a Timeout, and on many goroutines.
func variants(b *testing.B, do operation) {
	b.Run("plain", func(b *testing.B) { measure(b, connect(b), do) })
	b.Run("background", func(b *testing.B) {
		measure(b, connect(b), func(_ context.Context, c *mongo.Collection) error { return do(context.Background(), c) })
	})
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
	for _, goroutines := range []int{2, 64, 256} {
		b.Run(fmt.Sprintf("goroutines%d", goroutines), func(b *testing.B) { parallel(b, goroutines, do) })
	}
}

func parallel(b *testing.B, goroutines int, do operation) {
	b.Helper()
	c := connect(b)
	b.ReportAllocs()
	b.SetParallelism(max(1, goroutines/runtime.GOMAXPROCS(0)))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := do(context.Background(), c); err != nil {
				b.Error(err)
				return
			}
		}
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
func connect(b testing.TB, more ...*options.ClientOptions) *mongo.Collection {
	b.Helper()
	dialer, err := newDialer()
	if err != nil {
		b.Fatal(err)
	}
	uri := "mongodb://" + address + "/?replicaSet=" + replicaSet + "&" + os.Getenv(optionsVariable)
	c := open(b, append([]*options.ClientOptions{options.Client().ApplyURI(uri).SetDialer(dialer)}, more...)...)
	if err := findOne(context.Background(), c); err != nil {
		b.Fatal(err)
	}
	return c
}

// open returns a collection of a client with the options.
func open(b testing.TB, opts ...*options.ClientOptions) *mongo.Collection {
	b.Helper()
	client, err := mongo.Connect(opts...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := client.Disconnect(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return client.Database("bench").Collection("documents")
}

func findOne(ctx context.Context, c *mongo.Collection) error {
	var doc bson.Raw
	return c.FindOne(ctx, bson.D{{Key: "_id", Value: 1}}).Decode(&doc)
}

func insertOne(ctx context.Context, c *mongo.Collection) error {
	_, err := c.InsertOne(ctx, document())
	return err
}

func updateOne(ctx context.Context, c *mongo.Collection) error {
	_, err := c.UpdateOne(ctx, bson.D{{Key: "_id", Value: 1}}, bson.D{{Key: "$set", Value: bson.D{{Key: "count", Value: 2}}}})
	return err
}

func insertMany(ctx context.Context, c *mongo.Collection) error {
	documents := make([]any, thousand)
	for i := range documents {
		documents[i] = append(bson.D{{Key: "_id", Value: i}}, document()...)
	}
	_, err := c.InsertMany(ctx, documents)
	return err
}

func insertManyWithoutID(ctx context.Context, c *mongo.Collection) error {
	documents := make([]any, thousand)
	for i := range documents {
		documents[i] = document()
	}
	_, err := c.InsertMany(ctx, documents)
	return err
}

// record is a document as a struct.
type record struct {
	ID    int    `bson:"_id"`
	Name  string `bson:"name"`
	Count int64  `bson:"count"`
}

func decodeAll[T any](ctx context.Context, c *mongo.Collection) error {
	found, err := c.Find(ctx, bson.D{}, options.Find().SetComment(all))
	if err != nil {
		return err
	}
	var documents []T
	if err := found.All(ctx, &documents); err != nil {
		return err
	}
	if len(documents) != thousand {
		return fmt.Errorf("the cursor returned %d documents, want %d", len(documents), thousand)
	}
	return nil
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

func clientBulkWrite(ctx context.Context, c *mongo.Collection) error {
	writes := make([]mongo.ClientBulkWrite, bulkSize)
	for i := range writes {
		model := mongo.NewClientInsertOneModel().SetDocument(document())
		writes[i] = mongo.ClientBulkWrite{Database: c.Database().Name(), Collection: c.Name(), Model: model}
	}
	result, err := c.Database().Client().BulkWrite(ctx, writes)
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
		return nil, updateOne(ctx, c)
	})
	return err
}
