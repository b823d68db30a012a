package limits

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/virtual"
)

// TestBulkLoadUnderOverload loads documents into a server that gets six times as many requests as it can serve, ordered and not, in
// virtual time. The load ends, and each document is there exactly once. The documents have no _id of their own, so that one that is sent
// again without need would be there twice.
func TestBulkLoadUnderOverload(t *testing.T) {
	for _, ordered := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) { loadUnderOverload(t, ordered) })
	}
}

func loadUnderOverload(t *testing.T, ordered bool) {
	const capacity, batch, perLoad = 20, 2, 40
	cluster := virtual.New(t, virtual.Options{Topology: "standalone", Batch: batch})
	cluster.SetCapacity(&virtual.Capacity{PerSecond: capacity, Queue: 2, RejectionCost: 0.1})
	ctx, cancel := context.WithCancel(context.Background())
	rejected := 0
	monitor := &event.RetryMonitor{Finished: func(_ context.Context, e *event.RetryFinishedEvent) {
		if e.Failure != nil && e.CommandName == "insert" {
			rejected++
		}
	}}
	connect := func(uriOptions ...string) *mongo.Database {
		client, err := mongo.Connect(cluster.Client(uriOptions...).SetRetryMonitor(monitor))
		require.NoError(t, err)
		t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
		return client.Database("db")
	}

	others := connect("retryReads=false").Collection("others")
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	random := rand.New(rand.NewPCG(1, 1))
	running.Go(func() {
		for ctx.Err() == nil {
			running.Go(func() { _ = others.FindOne(ctx, bson.D{}).Err() })
			time.Sleep(time.Duration(random.ExpFloat64() * float64(time.Second) / (6 * capacity)))
		}
	})
	time.Sleep(time.Second)

	coll, start, count := connect().Collection("coll"), time.Now(), 0
	for rejected < 3 { // or nothing would have to be sent again after a wait
		docs := make([]any, perLoad)
		for i := range docs {
			docs[i] = bson.D{{Key: "number", Value: count + i}}
		}
		count += perLoad
		require.NoError(t, bulkLoad(ctx, coll, docs, 5*time.Second, ordered))
	}
	t.Logf("%d documents took %v; %d commands were rejected for good", count, time.Since(start).Round(time.Millisecond), rejected)

	cancel()
	cluster.SetCapacity(nil)
	times := map[int32]int{}
	cursor, err := connect().Collection("coll").Find(context.Background(), bson.D{})
	require.NoError(t, err)
	for cursor.Next(context.Background()) {
		times[cursor.Current.Lookup("number").Int32()]++
	}
	require.NoError(t, cursor.Err())
	assert.Len(t, times, count)
	for number, n := range times {
		assert.Equal(t, 1, n, "document %d", number)
	}
}

// bulkLoad is that of the example of BulkOutcome. It inserts the documents. If it returns an error, some were not inserted, or miss their write concern.
func bulkLoad(
	ctx context.Context, coll *mongo.Collection, docs []any,
	pause time.Duration, ordered bool,
) error {
	var concern error
	for {
		opts := options.InsertMany().SetOrdered(ordered)
		_, err := coll.InsertMany(ctx, docs, opts)
		outcome := mongo.BulkOutcome(err, len(docs))
		var exception mongo.BulkWriteException
		if errors.As(err, &exception) && len(exception.WriteConcernErrors) > 0 {
			concern = err
		}
		switch {
		case len(outcome.Failed)+len(outcome.Unknown) > 0,
			len(outcome.NotExecuted) > 0 && !isOverloaded(err):
			return err // look at each of them
		case len(outcome.NotExecuted) == 0:
			return concern
		}
		rest := make([]any, len(outcome.NotExecuted))
		for i, write := range outcome.NotExecuted {
			rest[i] = docs[write]
		}
		docs = rest
		select {
		case <-time.After(pause): // say half a minute, with jitter
		case <-ctx.Done():
			return err
		}
	}
}

// isOverloaded reports whether the server was overloaded: it has rejected a command or, since 9.0, single writes.
func isOverloaded(err error) bool {
	const overloaded = "SystemOverloadedError"
	var labeled mongo.LabeledError
	if errors.As(err, &labeled) && labeled.HasErrorLabel(overloaded) {
		return true
	}
	var exception mongo.BulkWriteException
	return errors.As(err, &exception) && len(exception.WriteErrors) > 0
}

// TestBulkLoadIsTheExample compares the code that runs under overload with the example that applications see.
func TestBulkLoadIsTheExample(t *testing.T) {
	for _, function := range []string{"bulkLoad", "isOverloaded"} {
		var texts []string
		for _, file := range []string{"bulk_load_test.go", "../../mongo/bulk_load_examples_test.go"} {
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			_, text, found := strings.Cut(string(source), "\nfunc "+function+"(")
			assert.True(t, found, "%s in %s", function, file)
			text, _, _ = strings.Cut(text, "\n}\n")
			texts = append(texts, text)
		}
		assert.Equal(t, texts[1], texts[0])
	}
}
