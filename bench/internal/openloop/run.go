package openloop

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// outcome is the outcome of an operation.
type outcome uint8

const (
	givenUp outcome = iota
	succeeded
	failed
)

// operation is one call of the application. Its times count from the start of the load.
type operation struct {
	start
	began, ended time.Duration
	outcome      outcome
	commands     atomic.Int32
}

// operationKey is the context key of the operation that a command belongs to.
type operationKey struct{}

// run is a run in progress.
type run struct {
	plan       Plan
	began      time.Time
	operations []operation
	clients    []*mongo.Client
	drained    *Drain

	served, rejected atomic.Int64 // replies in the measured time
}

// Run carries out the plan. It ends early with an error if the clients cannot connect.
func Run(ctx context.Context, plan Plan) (*Report, error) {
	if err := plan.check(); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	schedule := plan.schedule()
	r := &run{plan: plan, operations: make([]operation, len(schedule))}
	for i, s := range schedule {
		r.operations[i].start = s
	}
	defer func() { disconnect(r.clients) }()
	if err := r.connect(ctx); err != nil {
		return nil, err
	}
	if plan.Drain {
		var err error
		if r.drained, err = r.drain(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.load(ctx); err != nil {
		return nil, err
	}
	return r.report(), nil
}

func (r *run) connect(ctx context.Context) error {
	for range r.plan.Clients {
		client, err := mongo.Connect(options.Client().ApplyURI(r.plan.URI).SetMonitor(r.monitor()))
		if err != nil {
			return err
		}
		r.clients = append(r.clients, client)
		if err := reach(ctx, client); err != nil {
			return fmt.Errorf("a client does not connect before the load begins: %w", err)
		}
	}
	return nil
}

// reach returns when a server has answered. One that limits requests from the start may reject the first of them.
func reach(ctx context.Context, client *mongo.Client) error {
	const pause = 100 * time.Millisecond
	for {
		err := client.Ping(ctx, nil)
		var labeled mongo.LabeledError
		if !errors.As(err, &labeled) || !labeled.HasErrorLabel("SystemOverloadedError") {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// monitor counts the commands of operations, and their replies.
func (r *run) monitor() *event.CommandMonitor {
	ended := func(ctx context.Context, count *atomic.Int64) {
		if of(ctx) != nil && r.measures(time.Since(r.began)) {
			count.Add(1)
		}
	}
	return &event.CommandMonitor{
		Started: func(ctx context.Context, _ *event.CommandStartedEvent) {
			if op := of(ctx); op != nil {
				op.commands.Add(1)
			}
		},
		Succeeded: func(ctx context.Context, _ *event.CommandSucceededEvent) { ended(ctx, &r.served) },
		Failed:    func(ctx context.Context, _ *event.CommandFailedEvent) { ended(ctx, &r.rejected) },
	}
}

// of returns the operation that a command belongs to, or nil.
func of(ctx context.Context) *operation {
	op, _ := ctx.Value(operationKey{}).(*operation)
	return op
}

// measures reports whether a time is in the measured part.
func (r *run) measures(at time.Duration) bool {
	return at >= r.plan.Warmup && at < r.plan.Warmup+r.plan.Duration
}

// load starts all operations, each when it is due, and waits for them.
func (r *run) load(parent context.Context) error {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	r.began = time.Now()
	var wg sync.WaitGroup
	for i := range r.operations {
		op := &r.operations[i]
		time.Sleep(op.due - time.Since(r.began))
		wg.Add(1)
		go func() {
			defer wg.Done()
			r.do(ctx, op)
		}()
	}
	patience := time.AfterFunc(r.plan.Patience, cancel)
	defer patience.Stop()
	wg.Wait()
	return parent.Err()
}

// do does one operation.
func (r *run) do(ctx context.Context, op *operation) {
	op.began = time.Since(r.began)
	collection := r.clients[op.client].Database(r.plan.Database).Collection("documents")
	err := collection.FindOne(context.WithValue(ctx, operationKey{}, op), bson.D{{Key: "_id", Value: 1}}).Err()
	op.ended = time.Since(r.began)
	switch {
	case err == nil:
		op.outcome = succeeded
	case !errors.Is(ctx.Err(), context.Canceled):
		op.outcome = failed
	}
}
