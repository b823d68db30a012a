// Package cost measures what an operation costs when all is well. It uses only what every compared driver has, and is compiled
// with each of them: make bench WHAT=cost.
package cost

import (
	"context"
	"fmt"
	"os"
	"runtime"
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
	counted   = 250_000 // how many allocations are counted of each operation
)

type operation func(context.Context, *mongo.Collection) error

// limited is an operation, and how much of what is counted it may take with the fork: on the oldest base, and on the newest.
type limited struct {
	name           string
	do             operation
	oldest, newest float64
}

func (l limited) limit() float64 {
	if strings.HasPrefix(version.Driver, "2.5.0") {
		return l.oldest
	}
	return l.newest
}

// operations are what is measured. What is counted are allocations.
var operations = []limited{
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
		c, limit := connect(t), o.limit()
		runs := int(counted / limit)
		all := testing.AllocsPerRun(1, func() {
			for range runs {
				require.NoError(t, o.do(context.Background(), c))
			}
		})
		got := all / float64(runs)
		t.Logf("%s: %.2f allocations", o.name, got)
		assert.LessOrEqual(t, got, limit*tolerance, "%s allocates too often", o.name)
	}
}

// large are operations that write much. What is counted are bytes; the limits are those of upstream.
var large = []limited{
	{"InsertOne of 16 MB", insertString, 67_200_000, 67_200_000},
	{"InsertOne of 16,000 fields", insertFields, 119_100_000, 119_100_000},
	{"ReplaceOne of 16 MB", replaceString, 68_900_000, 68_900_000},
	{"InsertMany of 16 documents of 1 MB", insertMebibytes, 75_900_000, 75_900_000},
	{"GridFS upload of 16 MB", upload, 77_200_000, 77_200_000},
}

// TestLargeWrites fails if a large write of the fork allocates more bytes than upstream's.
func TestLargeWrites(t *testing.T) {
	const runs = 10
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))  // each processor has pools of its own
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it would take what pools hold
	for _, o := range large {
		c := connect(t)
		require.NoError(t, o.do(context.Background(), c)) // fills the pools
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			require.NoError(t, o.do(context.Background(), c))
			runtime.GC() // sparing pools: what was used since the last one stays
		}
		runtime.ReadMemStats(&after)
		got := float64(after.TotalAlloc-before.TotalAlloc) / runs
		t.Logf("%s: %.0f bytes", o.name, got)
		assert.LessOrEqual(t, got, o.limit(), "%s allocates too many bytes", o.name)
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

// text is what is written in large writes, of less than 16 MiB.
var text = strings.Repeat("x", 16<<20-200)

func insertString(ctx context.Context, c *mongo.Collection) error {
	_, err := c.InsertOne(ctx, bson.D{{Key: "text", Value: text}})
	return err
}

func insertFields(ctx context.Context, c *mongo.Collection) error {
	var document bson.D
	for i := range 16_000 {
		document = append(document, bson.E{Key: fmt.Sprint(i), Value: text[:1000]})
	}
	_, err := c.InsertOne(ctx, document)
	return err
}

func replaceString(ctx context.Context, c *mongo.Collection) error {
	_, err := c.ReplaceOne(ctx, bson.D{{Key: "_id", Value: 1}}, bson.D{{Key: "text", Value: text}})
	return err
}

func insertMebibytes(ctx context.Context, c *mongo.Collection) error {
	documents := make([]any, 16)
	for i := range documents {
		documents[i] = bson.D{{Key: "text", Value: text[:1<<20]}}
	}
	_, err := c.InsertMany(ctx, documents)
	return err
}

func upload(ctx context.Context, c *mongo.Collection) error {
	_, err := c.Database().GridFSBucket().UploadFromStream(ctx, "file", strings.NewReader(text))
	return err
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
