package overload

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"mongofork/lab/virtual"
)

const (
	// pause is the application's wait after an error before it tries again.
	pause = 100 * time.Millisecond
	// stormLimit is the time after which clients give up.
	stormLimit = time.Minute
	// perSecond is the number of connections per second that the server accepts, queue the number that may wait.
	perSecond, queue = 100, 50
)

// storm starts all clients at once. Its result has the number of clients without any success, the times until half of the clients and the
// last client succeeded, the errors that applications saw, the cleared pools and the failed heartbeats.
func storm(ctx context.Context, job Job, cluster *virtual.Cluster) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, stormLimit)
	defer cancel()
	cluster.LimitConnections(perSecond, 1, queue)
	var cleared, heartbeats, errors atomic.Int64
	began, took := time.Now(), make([]time.Duration, job.Scenario.Storm)
	var running sync.WaitGroup
	for i := range took {
		client, err := mongo.Connect(cluster.Client(job.Options).
			SetPoolMonitor(&event.PoolMonitor{Event: func(e *event.PoolEvent) {
				if e.Type == event.ConnectionPoolCleared {
					cleared.Add(1)
				}
			}}).
			SetServerMonitor(&event.ServerMonitor{ServerHeartbeatFailed: func(*event.ServerHeartbeatFailedEvent) {
				heartbeats.Add(1)
			}}))
		if err != nil {
			return nil, err
		}
		defer func() { _ = client.Disconnect(context.Background()) }()
		running.Go(func() {
			for ctx.Err() == nil {
				err := client.Database(database).Collection("documents").FindOne(ctx, bson.D{}).Err()
				if err == nil || err == mongo.ErrNoDocuments { //nolint:errorlint // the driver returns the value itself
					took[i] = time.Since(began)
					return
				}
				errors.Add(1)
				time.Sleep(pause)
			}
		})
	}
	running.Wait()
	var connected tally
	for _, at := range took {
		connected.add(&operation{ended: at, failed: at == 0})
	}
	result := Result{
		"unconnected": float64(connected.failed), "errors": float64(errors.Load()), "cleared": float64(cleared.Load()),
		"heartbeats": float64(heartbeats.Load()),
	}
	if len(connected.latencies) > 0 {
		result["half connected"], result["last connected"] = connected.quantile(0.5), connected.quantile(1)
	}
	return result, nil
}
