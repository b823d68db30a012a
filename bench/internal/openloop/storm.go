package openloop

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// StormPlan lets many clients start at once. Each tries an operation again and again until one succeeds.
type StormPlan struct {
	URI     string `json:"uri"`
	Clients int    `json:"clients"`
	// Pause is how long the application waits after an error before it tries again.
	Pause time.Duration `json:"pause_ns"`
	// Limit is when clients give up.
	Limit time.Duration `json:"limit_ns"`
}

// StormReport is what became of the clients.
type StormReport struct {
	Connected int `json:"connected"` // clients of which an operation succeeded
	// Errors is how many errors the applications saw, Unlucky how many of them saw any.
	Errors  int `json:"errors"`
	Unlucky int `json:"unlucky"`
	// Cleared is how often a pool of connections was cleared.
	Cleared int `json:"cleared"`
	// Heartbeats is how often the monitoring of a server failed, which clears its pool whatever the driver knows of overload.
	Heartbeats int `json:"heartbeats_failed"`
	// Latency is how long clients took from their start to their first success.
	Latency Percentiles `json:"latency"`
	// Last is when the last client had it.
	Last time.Duration `json:"last_ns"`
}

// RunStorm does what the plan says.
func RunStorm(ctx context.Context, plan StormPlan) (*StormReport, error) {
	if plan.Clients < 1 || plan.Limit <= 0 {
		return nil, fmt.Errorf("plan: %d clients for %v: give at least one, and some time", plan.Clients, plan.Limit)
	}
	ctx, cancel := context.WithTimeout(ctx, plan.Limit)
	defer cancel()
	var cleared, heartbeats atomic.Int64
	pools := &event.PoolMonitor{Event: func(e *event.PoolEvent) {
		if e.Type == event.ConnectionPoolCleared {
			cleared.Add(1)
		}
	}}
	servers := &event.ServerMonitor{ServerHeartbeatFailed: func(*event.ServerHeartbeatFailedEvent) { heartbeats.Add(1) }}
	newcomers := make([]newcomer, plan.Clients)
	began := time.Now()
	var wg sync.WaitGroup
	for i := range newcomers {
		client, err := mongo.Connect(options.Client().ApplyURI(plan.URI).SetPoolMonitor(pools).SetServerMonitor(servers))
		if err != nil {
			return nil, err
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			newcomers[i] = try(ctx, client, plan.Pause, began)
			// Nothing is lost with what the servers would have been told.
			brief, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_ = client.Disconnect(brief)
		}()
	}
	wg.Wait()
	report := sum(newcomers)
	report.Cleared, report.Heartbeats = int(cleared.Load()), int(heartbeats.Load())
	return report, nil
}

// newcomer is what a client met.
type newcomer struct {
	errors int
	took   time.Duration // zero if it never got through
}

// try does an operation until it succeeds or the context ends.
func try(ctx context.Context, client *mongo.Client, pause time.Duration, began time.Time) newcomer {
	var n newcomer
	collection := client.Database("bench").Collection("documents")
	for {
		err := collection.FindOne(ctx, bson.D{{Key: "_id", Value: 1}}).Err()
		if err == nil {
			n.took = time.Since(began)
			return n
		}
		if ctx.Err() != nil {
			return n
		}
		n.errors++
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return n
		}
	}
}

func sum(newcomers []newcomer) *StormReport {
	report := new(StormReport)
	var latencies []time.Duration
	for _, n := range newcomers {
		report.Errors += n.errors
		if n.errors > 0 {
			report.Unlucky++
		}
		if n.took > 0 {
			report.Connected++
			report.Last = max(report.Last, n.took)
			latencies = append(latencies, n.took)
		}
	}
	report.Latency = percentiles(latencies)
	return report
}
