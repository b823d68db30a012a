package overload

import (
	"context"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"mongofork/lab/virtual"
)

// herdLimit is the time after which calls give up: upstream's driver waits until the server is known again.
const herdLimit = 5 * time.Second

// herd starts reads of one client at once, while the server closes each new connection and leaves its monitor's alone. Its result has the
// connections that the client opened.
func herd(ctx context.Context, job Job, cluster *virtual.Cluster) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, herdLimit)
	defer cancel()
	client, err := mongo.Connect(cluster.Client(job.Options))
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Disconnect(context.Background()) }()
	time.Sleep(time.Second) // the monitor has connected
	before := cluster.Connections()
	cluster.Intercept(func(command virtual.Command, run func() bson.Raw) bson.Raw {
		if command.Connection > uint64(before) {
			return nil
		}
		return run()
	})
	var running sync.WaitGroup
	for range job.Scenario.Herd {
		running.Go(func() { _ = client.Database(database).Collection("documents").FindOne(ctx, bson.D{}).Err() })
	}
	running.Wait()
	return Result{"connections": float64(cluster.Connections() - before)}, nil
}
