package overload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/virtual"
)

// Connections is the total number of connections of the clients. An operation that waits for one sends nothing.
const connections = 1000

// cooldown is the time under load after what is measured.
const cooldown = time.Second

const database = "bench"

// operation is one call of the application. Its times count from the start of the load.
type operation struct {
	due, ended time.Duration
	client     int
	class      int
	cursor     *mongo.Cursor // of a getMore
	failed     bool
}

// run is a run in progress.
type run struct {
	job        Job
	cluster    *virtual.Cluster
	classes    []Class
	clients    []*mongo.Client
	operations []operation
	commands   int // that arrived in the measured time
}

func newRun(job Job, cluster *virtual.Cluster) *run {
	r := &run{job: job, cluster: cluster, classes: job.Scenario.Classes}
	if len(r.classes) == 0 {
		r.classes = []Class{{Share: 1}}
	}
	s := job.Scenario
	// Two words of seed, so that neighbouring seeds share nothing. The number of clients must not affect the times of arrival.
	const second = 0x9e3779b97f4a7c15
	choice := rand.New(rand.NewPCG(job.Seed, second))
	arrivals := rand.New(rand.NewPCG(job.Seed, second))
	if s.Load.Together > 0 {
		r.together(arrivals, choice)
		return r
	}
	for _, due := range s.Load.arrivals(arrivals, s.Capacity, s.Warmup+s.Duration+cooldown) {
		r.operations = append(r.operations, operation{due: due, client: choice.IntN(s.Clients), class: r.class(choice.Float64())})
	}
	return r
}

// together makes several operations of each client due at once, again and again. Each client starts at a time of its own.
func (r *run) together(arrivals, choice *rand.Rand) {
	s := r.job.Scenario
	for client := range s.Clients {
		due := time.Duration(arrivals.Float64() * float64(s.Load.Period))
		for ; due < s.Warmup+s.Duration+cooldown; due += s.Load.Period {
			for range s.Load.Together {
				r.operations = append(r.operations, operation{due: due, client: client, class: r.class(choice.Float64())})
			}
		}
	}
	slices.SortStableFunc(r.operations, func(a, b operation) int { return cmp.Compare(a.due, b.due) })
}

// class returns the class at a point of the sum of their shares.
func (r *run) class(at float64) int {
	last := len(r.classes) - 1
	for i, c := range r.classes[:last] {
		if at -= c.Share; at < 0 {
			return i
		}
	}
	return last
}

// connect makes clients that have connected.
func (r *run) connect(ctx context.Context) error {
	s := r.job.Scenario
	for i := range s.Clients {
		own := r.job.Options
		if s.Neighbours != "" && i%2 == 1 {
			own = s.Neighbours
		}
		client, err := mongo.Connect(r.cluster.Client(s.Options, own, fmt.Sprintf("maxPoolSize=%d", max(1, connections/s.Clients))))
		if err != nil {
			return err
		}
		r.clients = append(r.clients, client)
		if err := client.Ping(ctx, nil); err != nil {
			return fmt.Errorf("a client does not connect before the load begins: %w", err)
		}
	}
	return r.openCursors(ctx)
}

// openCursors opens a cursor of two batches with one document each, for each operation that will get the second. Every operation has its
// own, because a driver does not go on with a cursor that failed.
func (r *run) openCursors(ctx context.Context) error {
	for id := range 2 {
		r.cluster.Put(database+".documents", bson.D{{Key: "_id", Value: id}})
	}
	for i := range r.operations {
		op := &r.operations[i]
		if r.classes[op.class].Command != "getMore" {
			continue
		}
		collection := r.clients[op.client].Database(database).Collection("documents")
		cursor, err := collection.Find(ctx, bson.D{}, options.Find().SetBatchSize(1))
		if err != nil {
			return err
		}
		cursor.Next(ctx)
		op.cursor = cursor
	}
	return nil
}

func (r *run) disconnect() {
	for _, client := range r.clients {
		_ = client.Disconnect(context.Background())
	}
}

// sent returns the number of the operations' commands so far.
func (r *run) sent() int {
	return r.cluster.Count("find", "insert", "getMore")
}

// load starts all operations, each when it is due, and waits for them.
func (r *run) load(ctx context.Context) {
	began := time.Now()
	from, until := r.job.Scenario.Warmup, r.job.Scenario.Warmup+r.job.Scenario.Duration
	var running sync.WaitGroup
	running.Go(func() {
		time.Sleep(from)
		before := r.sent()
		time.Sleep(until - from)
		r.commands = r.sent() - before
	})
	for i := range r.operations {
		op := &r.operations[i]
		time.Sleep(op.due - time.Since(began))
		running.Go(func() {
			op.failed = r.do(mark(ctx, r.classes[op.class].Criticality), op) != nil
			op.ended = time.Since(began)
		})
	}
	running.Wait()
}

// do does one operation. Its document tells the server the class.
func (r *run) do(ctx context.Context, op *operation) error {
	class := r.classes[op.class]
	collection := r.clients[op.client].Database(database).Collection("documents")
	filter := bson.D{{Key: "class", Value: class.Name}}
	switch class.Command {
	case "getMore":
		if op.cursor.Next(ctx) {
			return nil
		}
		return cmp.Or(op.cursor.Err(), errors.New("there is no next batch"))
	case "insert":
		_, err := collection.InsertOne(ctx, filter)
		return err
	}
	cursor, err := collection.Find(ctx, filter)
	if err != nil {
		return err
	}
	return cursor.Close(ctx)
}

// spend spends the tokens of all clients: each runs one operation after the other until one is not retried. The servers have to reject all.
func (r *run) spend(ctx context.Context) error {
	const most = 2000 // of a thousand tokens each operation takes at least one
	for i := range r.clients {
		for n := 0; ; n++ {
			before := r.sent()
			err := r.do(ctx, &operation{client: i})
			if err == nil || n == most {
				return fmt.Errorf("the tokens of client %d are not spent after %d operations: %w", i, n, err)
			}
			if r.sent() == before+1 {
				break
			}
		}
	}
	return nil
}
