// Package overload puts an open-loop load on overloaded servers: operations start when they are due, regardless of earlier ones,
// and their latency counts from then. It uses only what every compared driver has. Its tests are the program that "make bench"
// compiles with each driver; what is to be measured is data.
package overload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
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
	if s.Load.Together > 0 {
		r.together(arrivals, choice)
		return r
	}
	for _, due := range s.Load.arrivals(arrivals, s.Capacity, s.Warmup+s.Duration+cooldown) {
		client := choice.IntN(s.Clients)
		class := r.class(choice.Float64())
		if own := r.classes[class].Clients; own > 0 { // which send only that class
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

// connect makes clients, that have connected unless new connections are limited.
func (r *run) connect(ctx context.Context) error {
	for i := range r.total(len(r.classes)) {
		client, err := r.client(i)
		if err != nil {
			return err
		}
		r.clients = append(r.clients, client)
		if r.job.Scenario.NewConnections > 0 {
			continue
		}
		if err := client.Ping(ctx, nil); err != nil {
			return fmt.Errorf("a client does not connect before the load begins: %w", err)
		}
	}
	return nil
}

// client makes the client of that number.
func (r *run) client(i int) (*mongo.Client, error) {
	s, own := r.job.Scenario, r.job.Options
	if r.neighbour(i) {
		own = s.Neighbours
	}
	// Of two values of an option the last one counts.
	return mongo.Connect(r.cluster.Client(fmt.Sprintf("maxPoolSize=%d", max(1, connections/s.Clients)), s.Options, own))
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
func (r *run) sent() int { return r.cluster.Count("find", "insert") }

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
	restarted, every, clients := 0, r.job.Scenario.Restart, time.Duration(len(r.clients))
	for i := range r.operations {
		op := &r.operations[i]
		time.Sleep(op.due - time.Since(began))
		for ; every > 0 && op.due >= time.Duration(restarted+1)*every/clients; restarted++ {
			r.restart(restarted%len(r.clients), &running)
		}
		client := r.clients[op.client]
		running.Go(func() {
			op.failed = r.do(mark(ctx, r.classes[op.class].Criticality), client, op) != nil
			op.ended = time.Since(began)
		})
	}
	running.Wait()
}

// restart replaces a client, which then has ten seconds for its operations.
func (r *run) restart(i int, running *sync.WaitGroup) {
	old := r.clients[i]
	client, err := r.client(i)
	if err != nil {
		panic(err) // the same options were good before
	}
	r.clients[i] = client
	running.Go(func() {
		time.Sleep(10 * time.Second)
		_ = old.Disconnect(context.Background())
	})
}

// do does one operation of a client. Its document tells the server the class.
func (r *run) do(ctx context.Context, client *mongo.Client, op *operation) error {
	class := r.classes[op.class]
	collection := client.Database("bench").Collection("documents")
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

// Scenario is a load and the servers that it meets: bench/cmd/bench/plan.yaml says what the fields mean.
type Scenario struct {
	Name                          string
	Clients, Seeds                int
	Load                          Load
	Capacity                      float64
	Limit                         int32
	RejectionCost                 *float64 `yaml:"rejectionCost"`
	Slower                        Slower
	NewConnections                int32 `yaml:"newConnections"`
	Restart, Warmup, Duration     time.Duration
	Topology, Options, Neighbours string
	MemberLoad                    float64 `yaml:"memberLoad"`
	Classes                       []Class
	OneOf                         int `yaml:"oneOf"`
}

// Class is a class of operations.
type Class struct {
	Name, Command   string
	Share, Rejected float64
	Clients         int
	Criticality     int8
	From, Until     time.Duration
}

// Slower is a time, and the share of the capacity that servers have in it.
type Slower struct {
	From, Until time.Duration
	Share       float64
}

// Load is the rate at which operations arrive.
type Load struct {
	Base, Peak           float64
	Start, Burst, Period time.Duration
	Together             int
}

// arrivals returns the times at which operations are due: a Poisson process. If the load varies, it is the process of the peak, thinned
// out.
func (l Load) arrivals(random *rand.Rand, capacity float64, end time.Duration) []time.Duration {
	highest := max(l.Base, l.Peak)
	var all []time.Duration
	for now := time.Duration(0); ; {
		now += time.Duration(random.ExpFloat64() / (highest * capacity) * float64(time.Second))
		if now >= end {
			return all
		}
		load := l.Base
		if l.Period > 0 && now >= l.Start && (now-l.Start)%l.Period < l.Burst {
			load = l.Peak
		}
		if load == highest || random.Float64()*highest < load {
			all = append(all, now)
		}
	}
}

// Job is one run of a scenario with a driver's options.
type Job struct {
	Scenario Scenario
	Options  string // those of the connection string
	Spent    bool   // the clients spend their buckets' tokens before the load begins
	Seed     uint64
}

// interval is the length of the parts of a run that tell when it has recovered.
const interval = 500 * time.Millisecond

// Result holds the figures of a run, or the means of several, by the names that bench/cmd/bench/plan.yaml explains. Operations count if
// they were due in the measured time.
type Result map[string]float64

// tally counts operations.
type tally struct {
	due, failed int
	latencies   []float64
}

func (t *tally) add(op *operation) {
	t.due++
	if op.failed {
		t.failed++
	} else {
		t.latencies = append(t.latencies, (op.ended - op.due).Seconds())
	}
}

func (t *tally) errors() float64 { return percent(float64(t.failed), float64(t.due)) }

// quantile returns a quantile of the latencies; zero without any.
func (t *tally) quantile(share float64) float64 {
	if len(t.latencies) == 0 {
		return 0
	}
	slices.Sort(t.latencies)
	return t.latencies[min(int(share*float64(len(t.latencies))), len(t.latencies)-1)]
}

// percent is zero of nothing.
func percent(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * part / whole
}

// result summarizes a run that has ended.
func (r *run) result() Result {
	s := r.job.Scenario
	until := s.Warmup + s.Duration
	measured := func(at time.Duration) bool { return at >= s.Warmup && at < until }
	var all, own, others tally
	clients := make([]tally, r.total(len(r.classes)))
	classes := make([]tally, len(r.classes))
	intervals := make([]tally, (s.Duration+interval-1)/interval)
	var total, inFlight float64
	var lastFailed time.Duration
	for i := range r.operations {
		op := &r.operations[i]
		inFlight += max(0, (min(op.ended, until) - max(op.due, s.Warmup)).Seconds())
		if op.failed {
			lastFailed = max(lastFailed, op.due)
		} else if measured(op.ended) {
			total++
		}
		if !measured(op.due) {
			continue
		}
		for _, t := range []*tally{&all, &clients[op.client], &intervals[(op.due-s.Warmup)/interval]} {
			t.add(op)
		}
		if r.neighbour(op.client) {
			others.add(op)
			continue
		}
		own.add(op)
		classes[op.class].add(op)
	}
	result := Result{"goodput": percent(total, s.Capacity*s.Duration.Seconds()), "commands": float64(r.commands) / float64(all.due),
		"errors": all.errors(), "success": 100 - all.errors(), "p50": all.quantile(0.5), "p99": all.quantile(0.99),
		"own": 100 - own.errors(), "in progress": inFlight / s.Duration.Seconds(), "dials": float64(r.dials)}
	result["fairness"], result["worst"] = fairness(clients[:s.Clients])
	if s.Neighbours != "" {
		result["others"] = 100 - others.errors()
	}
	if n := r.committed.Load(); n > 0 {
		result["committed"] = percent(float64(n), s.Capacity*s.Duration.Seconds())
	}
	if s.Load.Period > 0 && s.Load.Together == 0 {
		result["recovery"] = recovery(intervals, s.Load.Start+s.Load.Burst-s.Warmup)
	}
	for i, class := range s.Classes {
		if class.Until > 0 {
			result["last error"] = max(0, (lastFailed - class.Until).Seconds())
		}
		result[class.Name+": success"], result[class.Name+": p99"] = 100-classes[i].errors(), classes[i].quantile(0.99)
	}
	return result
}

// recovery returns the time from the end of the first burst until nine tenths of the operations of an interval succeed.
func recovery(intervals []tally, end time.Duration) float64 {
	i := int(end / interval)
	for i < len(intervals) && intervals[i].failed*10 > intervals[i].due {
		i++
	}
	return (time.Duration(i)*interval - end).Seconds()
}

// fairness returns Jain's index of the clients' shares of success, and the lowest of these, of their mean.
func fairness(clients []tally) (jain, worst float64) {
	lowest, sum, squares, n := 1.0, 0.0, 0.0, 0.0
	for _, c := range clients {
		if c.due > 0 {
			share := 1 - float64(c.failed)/float64(c.due)
			lowest, sum, squares, n = min(lowest, share), sum+share, squares+share*share, n+1
		}
	}
	return sum * sum / (n * squares), lowest * n / sum
}

// Mean returns the means of several results of one scenario with one arm, and what follows from them.
func Mean(results []Result) Result {
	mean := Result{}
	for _, r := range results {
		for figure, v := range r {
			mean[figure] += v
		}
	}
	for figure := range mean {
		mean[figure] /= float64(len(results))
	}
	if others, ok := mean["others"]; ok {
		mean["own share"] = mean["own"] / others
	}
	return mean
}
