// Package soak makes everything go wrong, over and over, for an application that keeps account of what it was told,
// and compares that with what is on the server in the end.
package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/lab"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/topology"
)

const (
	members       = 3
	electionDelay = 200 * time.Millisecond
	// patience is how long may take in the end what was under way.
	patience = 60 * time.Second
	// leavePatience is how long a client may take to leave after Disconnect.
	leavePatience = 10 * time.Second
)

// Config says what a run is.
type Config struct {
	Seed     uint64
	Duration time.Duration
	// Workers is how many workers there are of each kind.
	Workers int
	// Backend is the connection string of the server behind the lab. Its database "soak" is dropped.
	Backend string
	// Adaptive sets adaptiveRetries, which a driver that does not know it ignores.
	Adaptive bool
	// Progress gets a line for each event.
	Progress io.Writer
}

// run is a run under way.
type run struct {
	config   Config
	report   *Report
	attempts *Attempts
	client   *mongo.Client
	dialer   *dialer

	inserters, updaters, transactors []*worker
	watcher                          *watcher
}

// Run runs the soak, and returns what it found. The error is for a run that could not be had.
func Run(ctx context.Context, config Config) (*Report, error) {
	backend, err := proxy.ParseBackend(config.Backend)
	if err != nil {
		return nil, err
	}
	if err := pastTheLab(ctx, config.Backend, prepare); err != nil {
		return nil, fmt.Errorf("prepare the server behind the lab: %w", err)
	}
	r := &run{config: config, report: newReport(), attempts: &Attempts{}, dialer: &dialer{}}
	l, err := lab.Open(lab.Config{
		Topology: topology.Spec{Kind: topology.ReplicaSet, Members: members},
		Options:  topology.Options{ElectionDelay: electionDelay}, Backend: backend,
		Observers: []proxy.Handler{r.attempts}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	labCtx, stopLab := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- l.Run(labCtx) }()
	err = r.run(ctx, l)
	if err == nil {
		err = pastTheLab(ctx, config.Backend, r.verify)
	}
	stopLab()
	return r.report, errors.Join(err, <-ended)
}

// pastTheLab does something with a client of the server itself.
func pastTheLab(ctx context.Context, uri string, do func(context.Context, *mongo.Client) error) error {
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		return err
	}
	err = do(ctx, client)
	return errors.Join(err, client.Disconnect(context.WithoutCancel(ctx)))
}

// prepare makes what transactions on some servers cannot: collections.
func prepare(ctx context.Context, direct *mongo.Client) error {
	db := direct.Database(database)
	if err := db.Drop(ctx); err != nil {
		return err
	}
	for _, name := range []string{"inserts", "updates", "entries", "totals"} {
		if err := db.CreateCollection(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// run lets the client work while the plan happens, and sees to it that nothing of the client is left.
func (r *run) run(ctx context.Context, l *lab.Lab) error {
	disturb, err := newChaos(l)
	if err != nil {
		return err
	}
	opts := options.Client().ApplyURI(l.Endpoints()[0].URI).SetDialer(r.dialer)
	if r.config.Adaptive {
		opts.ApplyURI(l.Endpoints()[0].URI + "&adaptiveRetries=true")
	}
	if r.client, err = mongo.Connect(opts); err != nil {
		return err
	}
	events := Plan(r.config.Seed, r.config.Duration, members)
	err = r.work(ctx, func(ctx context.Context) error {
		return disturb.run(ctx, events, func(e Event) { fmt.Fprintf(r.config.Progress, "  %v\n", e) })
	})
	if disconnectErr := r.client.Disconnect(context.WithoutCancel(ctx)); err == nil {
		err = disconnectErr
	}
	disturb.close(context.WithoutCancel(ctx))
	r.awaitNothingLeft()
	return err
}

// work runs all workers for the duration of the run, and then lets them finish.
func (r *run) work(ctx context.Context, disturb func(context.Context) error) error {
	r.watcher = &watcher{worker: r.worker("watcher"), seen: make(map[string][]int64)}
	stream, err := r.watcher.open(ctx)
	if err != nil {
		return fmt.Errorf("open the change stream: %w", err)
	}
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWatching()
	watched := make(chan error, 1)
	go func() { watched <- r.watcher.follow(watching, stream) }()

	working, stop := context.WithTimeout(ctx, r.config.Duration)
	defer stop()
	workers := r.startWorkers(working)
	chaosErr := disturb(working)
	workers.Wait()

	if err := r.last(ctx); err != nil {
		return errors.Join(chaosErr, fmt.Errorf("insert the last document: %w", err))
	}
	timer := time.AfterFunc(patience, stopWatching)
	defer timer.Stop()
	if err := <-watched; err != nil {
		r.report.violation("change streams that end early", "%v", err)
	}
	return chaosErr
}

// last inserts the document that ends the change stream.
func (r *run) last(ctx context.Context) error {
	_, err := r.client.Database(database).Collection("inserts").InsertOne(ctx, record{lastWorker, 1})
	return err
}

func (r *run) worker(name string) worker {
	return worker{name: name, client: r.client, report: r.report, stream: &stream{}}
}

// startWorkers starts the workers of all kinds. They end with the context.
func (r *run) startWorkers(ctx context.Context) *sync.WaitGroup {
	var workers sync.WaitGroup
	start := func(w *worker, kind string, operate func(context.Context) error) {
		workers.Go(func() { w.repeat(ctx, kind, operate) })
	}
	for i := range r.config.Workers {
		inserter := r.worker(fmt.Sprintf("inserter %d", i))
		updater := r.worker(fmt.Sprintf("updater %d", i))
		transactor := r.worker(fmt.Sprintf("transactor %d", i))
		reading := &reader{worker: r.worker(fmt.Sprintf("reader %d", i)), writer: &inserter}
		r.inserters = append(r.inserters, &inserter)
		r.updaters = append(r.updaters, &updater)
		r.transactors = append(r.transactors, &transactor)
		start(&inserter, "insert", inserter.insert)
		start(&updater, "update", updater.push)
		start(&transactor, "transaction", transactor.transact)
		start(&reading.worker, "cursor", reading.read)
	}
	return &workers
}

// awaitNothingLeft waits until the goroutines of the driver and the client's connections are gone. They are told to go
// and then go by themselves, and so take a moment.
func (r *run) awaitNothingLeft() {
	deadline := time.Now().Add(leavePatience)
	for (len(driverGoroutines()) > 0 || r.dialer.open.Load() > 0) && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
	}
	goroutines, connections := driverGoroutines(), r.dialer.open.Load()
	if connections > 0 {
		r.report.violation("connections that were leaked", "%d are open after Disconnect", connections)
	}
	for _, stack := range goroutines {
		r.report.violation("goroutines that were leaked", "after Disconnect:\n%s", stack)
	}
	r.report.note("%d connections and %d goroutines of the driver were left after Disconnect", connections, len(goroutines))
}

// driverGoroutines returns the stacks of the goroutines in which the driver is at work.
func driverGoroutines() []string {
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	var found []string
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(stack, "go.mongodb.org/mongo-driver/v2/x/mongo/driver") {
			found = append(found, stack)
		}
	}
	return found
}
