package overload

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/virtual"
)

// streamPause is the time between two documents that a stream or a cursor is asked for.
const streamPause = 200 * time.Millisecond

// streams reads from change streams and from cursors of one client while the server rejects a fifth of its commands at random. Its result
// has how many can still be read from at the end.
func streams(ctx context.Context, job Job, cluster *virtual.Cluster) (Result, error) {
	s := job.Scenario
	documents := int(s.Duration/streamPause) + 2
	for id := range documents {
		cluster.Put(database+".documents", bson.D{{Key: "_id", Value: id}})
	}
	client, err := mongo.Connect(cluster.Client(s.Options, job.Options))
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Disconnect(context.Background()) }()
	collection := client.Database(database).Collection("documents")

	var alive [2]atomic.Int64
	var running sync.WaitGroup
	follow := func(kind int, next func(context.Context) bool, failed func() error, closes func(context.Context) error) {
		running.Go(func() {
			defer func() { _ = closes(context.Background()) }()
			for began := time.Now(); time.Since(began) < s.Duration; time.Sleep(streamPause) {
				if next(ctx); failed() != nil {
					return
				}
			}
			alive[kind].Add(1)
		})
	}
	for range s.Streams {
		stream, err := collection.Watch(ctx, mongo.Pipeline{})
		if err != nil {
			return nil, err
		}
		follow(0, stream.TryNext, stream.Err, stream.Close)
		cursor, err := collection.Find(ctx, bson.D{}, options.Find().SetBatchSize(1))
		if err != nil {
			return nil, err
		}
		follow(1, cursor.Next, cursor.Err, cursor.Close)
	}
	random := rand.New(rand.NewPCG(job.Seed, job.Seed))
	var mu sync.Mutex
	cluster.Intercept(func(_ virtual.Command, run func() bson.Raw) bson.Raw {
		mu.Lock()
		rejected := random.Float64() < 0.2
		mu.Unlock()
		if rejected {
			return virtual.RequestRate.Reply()
		}
		return run()
	})
	running.Wait()
	return Result{"streams": float64(alive[0].Load()), "cursors": float64(alive[1].Load())}, nil
}
