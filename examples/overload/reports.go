package main

import (
	"context"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
)

// report sums up orders until the context ends, and has the latest ones from the primary.
func report(ctx context.Context, database *mongo.Database, number int, seed int64, pause time.Duration, counts *counts) {
	clerk := newCustomer(database, number, seed)
	for ctx.Err() == nil {
		if err := clerk.sum(background(ctx), clerk.orders); ctx.Err() == nil {
			counts.report(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// startReports starts the writers of reports. The returned function stops them.
func startReports(ctx context.Context, s settings, database *mongo.Database, counts *counts) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for i := 0; i < s.reports; i++ {
		i := i
		all.Add(1)
		go func() {
			defer all.Done()
			report(ctx, database, s.workers+i, s.seed, s.pause, counts)
		}()
	}
	return func() {
		cancel()
		all.Wait()
	}
}
