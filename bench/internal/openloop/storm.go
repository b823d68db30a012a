package openloop

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// StormPlan starts many clients at once. Each tries an operation again and again until one succeeds, and stays connected until
// all have ended.
type StormPlan struct {
	URI     string `json:"uri"`
	Clients int    `json:"clients"`
	// Pause is the application's wait after an error before it tries again.
	Pause time.Duration `json:"pause_ns"`
	// Limit is the time after which clients give up.
	Limit time.Duration `json:"limit_ns"`
}

// StormReport describes the clients until the last of them succeeded or gave up.
type StormReport struct {
	Connected int `json:"connected"` // clients of which an operation succeeded
	// Errors is the number of errors that the applications saw, Unlucky the number of applications that saw any.
	Errors  int `json:"errors"`
	Unlucky int `json:"unlucky"`
	// Cleared counts clearings of connection pools, ClearedWithConnections those of pools with an established connection; nil in
	// results older than this count.
	Cleared                int  `json:"cleared"`
	ClearedWithConnections *int `json:"cleared_with_connections,omitempty"`
	// Heartbeats counts failures of servers' monitoring, which clear the pool even if the driver knows about overload.
	Heartbeats int `json:"heartbeats_failed"`
	// Latency is the clients' time from their start to their first success.
	Latency Percentiles `json:"latency"`
	// Last is the time of the last client's first success.
	Last time.Duration `json:"last_ns"`
}

// RunStorm carries out the plan.
func RunStorm(ctx context.Context, plan StormPlan) (*StormReport, error) {
	if plan.Clients < 1 || plan.Limit <= 0 {
		return nil, fmt.Errorf("plan: %d clients for %v: give at least one, and some time", plan.Clients, plan.Limit)
	}
	ctx, cancel := context.WithTimeout(ctx, plan.Limit)
	defer cancel()
	newcomers, watches := make([]Newcomer, plan.Clients), make([]watch, plan.Clients)
	var clients []*mongo.Client
	// Applications stay connected after their first operation, and their errors count until the end of the storm.
	defer func() { disconnect(clients) }()
	began := time.Now()
	var wg sync.WaitGroup
	for i := range newcomers {
		client, err := mongo.Connect(options.Client().ApplyURI(plan.URI).SetPoolMonitor(watches[i].pools()).SetServerMonitor(watches[i].servers()))
		if err != nil {
			return nil, err
		}
		clients = append(clients, client)
		wg.Add(1)
		go func() {
			defer wg.Done()
			newcomers[i] = try(ctx, client, plan.Pause, began)
		}()
	}
	wg.Wait()
	samples := StormSamples{Newcomers: newcomers}
	for i := range watches {
		watches[i].addTo(&samples)
	}
	return samples.Report(), nil
}

// disconnect disconnects clients, all at the same time.
func disconnect(clients []*mongo.Client) {
	// The servers need not be told.
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for _, client := range clients {
		wg.Go(func() { _ = client.Disconnect(ctx) })
	}
	wg.Wait()
}

// try does an operation until it succeeds or the context ends.
func try(ctx context.Context, client *mongo.Client, pause time.Duration, began time.Time) Newcomer {
	var n Newcomer
	collection := client.Database("bench").Collection("documents")
	for {
		err := collection.FindOne(ctx, bson.D{{Key: "_id", Value: 1}}).Err()
		if err == nil {
			n.Took = time.Since(began)
			return n
		}
		if ctx.Err() != nil {
			return n
		}
		n.Errors++
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return n
		}
	}
}
