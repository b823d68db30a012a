package overload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

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
	failed     bool
}

// run is a run in progress.
type run struct {
	job        Job
	cluster    *virtual.Cluster
	classes    []Class
	clients    []*mongo.Client
	operations []operation
	commands   int          // that arrived in the measured time
	dials      int          // while the load lasted
	committed  atomic.Int64 // transactions in the measured time; upstream v2.5.0 takes some rejections for successes
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
	for _, due := range s.Load.arrivals(arrivals, s.Capacity, s.Warmup+s.Duration+cooldown) {
		client := choice.IntN(s.Clients)
		class := r.class(choice.Float64())
		if own := r.classes[class].Clients; own > 0 { // that only send that class
			client = r.total(class) + choice.IntN(own)
		}
		r.operations = append(r.operations, operation{due: due, client: client, class: class})
	}
	return r
}

// total returns the number of the clients before those of a class.
func (r *run) total(class int) int {
	n := r.job.Scenario.Clients
	for _, c := range r.classes[:class] {
		n += c.Clients
	}
	return n
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

// connect makes clients, that have connected unless new connections are limited.
func (r *run) connect(ctx context.Context) error {
	s := r.job.Scenario
	for i := range r.total(len(r.classes)) {
		own := r.job.Options
		if r.neighbour(i) {
			own = s.Neighbours
		}
		// Of two values of an option the last one counts.
		client, err := mongo.Connect(r.cluster.Client(fmt.Sprintf("maxPoolSize=%d", max(1, connections/s.Clients)), s.Options, own))
		if err != nil {
			return err
		}
		r.clients = append(r.clients, client)
		if s.NewConnections > 0 {
			continue
		}
		if err := client.Ping(ctx, nil); err != nil {
			return fmt.Errorf("a client does not connect before the load begins: %w", err)
		}
	}
	return nil
}

// neighbour reports whether a client has the neighbours' options.
func (r *run) neighbour(client int) bool {
	return r.job.Scenario.Neighbours != "" && client%cmp.Or(r.job.Scenario.OneOf, 2) != 0
}

func (r *run) disconnect() {
	for _, client := range r.clients {
		_ = client.Disconnect(context.Background())
	}
}

// sent returns the number of the operations' commands so far.
func (r *run) sent() int {
	return r.cluster.Count("find", "insert")
}

// load starts all operations, each when it is due, and waits for them.
func (r *run) load(ctx context.Context) {
	began, dialed := time.Now(), r.cluster.Connections()
	from, until := r.job.Scenario.Warmup, r.job.Scenario.Warmup+r.job.Scenario.Duration
	var running sync.WaitGroup
	running.Go(func() {
		time.Sleep(from)
		before := r.sent()
		time.Sleep(until - from)
		r.commands, r.dials = r.sent()-before, r.cluster.Connections()-dialed
	})
	for i := range r.operations {
		op := &r.operations[i]
		time.Sleep(op.due - time.Since(began))
		client := r.clients[op.client]
		running.Go(func() {
			op.failed = r.do(mark(ctx, r.classes[op.class].Criticality), client, op) != nil
			op.ended = time.Since(began)
		})
	}
	running.Wait()
}

// do does one operation of a client. Its document tells the server the class.
func (r *run) do(ctx context.Context, client *mongo.Client, op *operation) error {
	class := r.classes[op.class]
	collection := client.Database(database).Collection("documents")
	filter := bson.D{{Key: "class", Value: class.Name}}
	switch class.Command {
	case "insert":
		_, err := collection.InsertOne(ctx, filter)
		return err
	case "transaction":
		return transaction(ctx, client, collection, filter)
	}
	cursor, err := collection.Find(ctx, filter)
	if err != nil {
		return err
	}
	return cursor.Close(ctx)
}

// transactionCommands is the number of the commands of a transaction.
const transactionCommands = 3

// transaction reads twice and commits. After an error it aborts.
func transaction(ctx context.Context, client *mongo.Client, collection *mongo.Collection, filter bson.D) error {
	session, err := client.StartSession()
	if err != nil {
		return err
	}
	defer session.EndSession(ctx)
	return mongo.WithSession(ctx, session, func(ctx context.Context) error {
		if err := session.StartTransaction(); err != nil {
			return err
		}
		for range transactionCommands - 1 {
			if err := collection.FindOne(ctx, filter).Err(); err != nil && !errors.Is(err, mongo.ErrNoDocuments) {
				_ = session.AbortTransaction(ctx)
				return err
			}
		}
		return session.CommitTransaction(ctx)
	})
}

// spend spends the tokens of all clients: each runs one operation after the other until one is not retried. The servers have to reject all.
func (r *run) spend(ctx context.Context) error {
	const most = 2000 // of a thousand tokens each operation takes at least one
	for i := range r.clients {
		for n := 0; ; n++ {
			before := r.sent()
			err := r.do(ctx, r.clients[i], &operation{client: i})
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
