// Package cost measures what an operation costs when all is well. It uses only what every compared driver has, and is compiled
// with each of them: make bench WHAT=cost.
package cost

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/version"
)

const (
	bulkSize = 100
	thousand = 1000
	// tolerance is for what the monitor allocates meanwhile; it is less than one allocation of a small operation.
	tolerance = 1.002
	// counted is how many allocations are counted of each operation.
	counted = 250_000
)

type operation func(context.Context, *mongo.Collection) error

// operations are what is measured. With the fork, each allocates at most so often, on the oldest base and on the newest.
var operations = []struct {
	name           string
	do             operation
	oldest, newest float64
}{
	{"FindOne", findOne, 50, 51},
	{"InsertOne", insertOne, 43, 45},
	{"UpdateOne", updateOne, 45, 46},
	{"AllRaw", decodeAll[bson.Raw], 4078, 4079},
	{"AllStructs", decodeAll[record], 5823, 5823},
	{"AllMaps", decodeAll[bson.M], 16822, 16823},
	{"InsertMany", insertMany, 11526, 11528},
	{"BulkWrite", bulkWrite, 540, 540},
	{"Transaction", transaction, 181, 186},
}

// TestAllocations fails if an operation of the fork allocates more often than that. Unlike time, it does not depend on the machine.
func TestAllocations(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it would take what pools hold
	for _, o := range operations {
		limit := o.newest
		if strings.HasPrefix(version.Driver, "2.5.0") {
			limit = o.oldest
		}
		c, runs := connect(t), int(counted/limit)
		all := testing.AllocsPerRun(1, func() {
			for range runs {
				if err := o.do(context.Background(), c); err != nil {
					t.Fatal(err)
				}
			}
		})
		got := all / float64(runs)
		t.Logf("%s: %.2f allocations", o.name, got)
		if got > limit*tolerance {
			t.Errorf("%s allocates %.2f times, want at most %v", o.name, got, limit)
		}
	}
}

// connect returns a collection of a client that has done an operation: what is done once does not count.
func connect(t testing.TB) *mongo.Collection {
	t.Helper()
	uri := "mongodb://memory:27017/?replicaSet=canned&" + os.Getenv("BENCH_OPTIONS") // which not every driver knows
	c := open(t, options.Client().ApplyURI(uri).SetDialer(newServer(t)))
	require.NoError(t, findOne(context.Background(), c))
	return c
}

// open returns a collection of a client with the options.
func open(t testing.TB, opts *options.ClientOptions) *mongo.Collection {
	t.Helper()
	client, err := mongo.Connect(opts)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, client.Disconnect(context.Background())) })
	return client.Database("bench").Collection("documents")
}

// fields are those of what is written, which has no _id.
func fields() bson.D {
	return bson.D{{Key: "name", Value: "the quick brown fox"}, {Key: "count", Value: int64(1)}}
}

// record is a document as a struct.
type record struct {
	ID    int    `bson:"_id"`
	Name  string `bson:"name"`
	Count int64  `bson:"count"`
}

func findOne(ctx context.Context, c *mongo.Collection) error {
	var doc bson.Raw
	return c.FindOne(ctx, bson.D{{Key: "_id", Value: 1}}).Decode(&doc)
}

func insertOne(ctx context.Context, c *mongo.Collection) error {
	_, err := c.InsertOne(ctx, fields())
	return err
}

func updateOne(ctx context.Context, c *mongo.Collection) error {
	_, err := c.UpdateOne(ctx, bson.D{{Key: "_id", Value: 1}}, bson.D{{Key: "$set", Value: bson.D{{Key: "count", Value: 2}}}})
	return err
}

func insertMany(ctx context.Context, c *mongo.Collection) error {
	documents := make([]any, thousand)
	for i := range documents {
		documents[i] = append(bson.D{{Key: "_id", Value: i}}, fields()...)
	}
	_, err := c.InsertMany(ctx, documents)
	return err
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
		models[i] = mongo.NewInsertOneModel().SetDocument(fields())
	}
	_, err := c.BulkWrite(ctx, models)
	return err
}

// transaction sends three commands and the commit.
func transaction(ctx context.Context, c *mongo.Collection) error {
	session, err := c.Database().Client().StartSession()
	if err != nil {
		return err
	}
	defer session.EndSession(ctx)
	_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
		for _, do := range []operation{findOne, insertOne, updateOne} {
			if err := do(ctx, c); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	return err
}
