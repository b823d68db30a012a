package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/clock"
)

const (
	// patience bounds the operations in progress at the end.
	patience = 60 * time.Second
	// leavePatience bounds a client's clean-up after Disconnect.
	leavePatience = 10 * time.Second
	// pace is the least wait of a worker between two operations.
	pace = 50 * time.Millisecond
)

// Assignment is what an application has to do.
type Assignment struct {
	Seed     uint64        `json:"seed"`
	Duration time.Duration `json:"duration"`
	Start    time.Time     `json:"start"`
	// URI is the connection string of the application's fronts, Direct that of the members. The database is dropped.
	URI      string `json:"uri"`
	Direct   string `json:"direct"`
	Database string `json:"database"`
}

// application is an application at work.
type application struct {
	Assignment
	report *Report
	client *mongo.Client
	dialer dialer

	jobs      []job
	ledger    map[string]map[string]*stream // by collection and worker: what has to be there
	inserter  *inserter
	watcher   *watcher
	registers *registers
	leave     []func(context.Context) // ends sessions
}

// job is a worker's repeated task.
type job struct {
	kind    string
	operate func(context.Context) error
}

// Work does what is assigned, and returns the findings. The error is for a run that failed.
func Work(ctx context.Context, work Assignment) (*Report, error) {
	a := &application{Assignment: work, report: newReport(), ledger: make(map[string]map[string]*stream)}
	if err := a.direct(ctx, a.prepare); err != nil {
		return nil, fmt.Errorf("prepare the members: %w", err)
	}
	if err := a.run(ctx); err != nil {
		return nil, err
	}
	return a.report, a.direct(ctx, a.verify)
}

// direct calls a function with the database at the members themselves, by a client that is there for no longer.
func (a *application) direct(ctx context.Context, do func(context.Context, *mongo.Database) error) error {
	client, err := mongo.Connect(options.Client().ApplyURI(a.Direct))
	if err != nil {
		return err
	}
	err = do(ctx, client.Database(a.Database))
	return errors.Join(err, client.Disconnect(context.WithoutCancel(ctx)))
}

// prepare makes the accounts, and collections, which transactions would make with difficulty.
func (a *application) prepare(ctx context.Context, db *mongo.Database) error {
	if err := db.Drop(ctx); err != nil {
		return err
	}
	for _, name := range []string{
		"inserts", "updates", "bulks", "modified", "accounts", "transfers", "causal", "registers",
	} {
		if err := db.CreateCollection(ctx, name); err != nil {
			return err
		}
	}
	var all []account
	for i := range accounts {
		all = append(all, account{ID: i, Balance: initialBalance})
	}
	_, err := db.Collection("accounts").InsertMany(ctx, all)
	return err
}

// run lets the client work, and checks that nothing of the client is left.
func (a *application) run(ctx context.Context) (err error) {
	if a.client, err = mongo.Connect(options.Client().ApplyURI(a.URI).SetDialer(&a.dialer)); err != nil {
		return err
	}
	err = a.work(ctx)
	err = errors.Join(err, a.client.Disconnect(context.WithoutCancel(ctx)))
	a.awaitNothingLeft()
	return err
}

// work runs all workers for the duration of the run, and then lets them finish.
func (a *application) work(ctx context.Context) error {
	if err := a.assemble(); err != nil {
		return err
	}
	stream, err := a.watcher.open(ctx)
	if err != nil {
		return fmt.Errorf("open the change stream: %w", err)
	}
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWatching()
	watched := make(chan error, 1)
	go func() { watched <- a.watcher.follow(watching, stream) }()

	if err := clock.Wait(ctx, time.Until(a.Start)); err != nil {
		return err
	}
	working, stop := context.WithTimeout(ctx, a.Duration)
	defer stop()
	var workers sync.WaitGroup
	for _, j := range a.jobs {
		workers.Go(func() { a.repeat(working, j) })
	}
	workers.Wait()
	for _, leave := range a.leave {
		leave(ctx)
	}
	if err := a.last(ctx); err != nil {
		return fmt.Errorf("insert the last document: %w", err)
	}
	timer := time.AfterFunc(patience, stopWatching)
	defer timer.Stop()
	if err := <-watched; err != nil {
		a.report.violation(endedStreams, "%v", err)
	}
	return nil
}

// repeat runs an operation until the context ends. The operation itself is not interrupted: a context with a deadline
// would put the driver's retries under a client-side timeout.
func (a *application) repeat(ctx context.Context, j job) {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			a.report.operation(j.kind, j.operate(context.WithoutCancel(ctx)))
		}
	}
}

// last inserts the document that ends the change stream. It insists, because an error must not look like a stream that ended.
func (a *application) last(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		_, err := a.client.Database(a.Database).Collection("inserts").UpdateOne(ctx, bson.D{{Key: "worker", Value: lastWorker}},
			bson.D{{Key: "$set", Value: bson.D{{Key: "n", Value: 1}}}}, options.UpdateOne().SetUpsert(true))
		if err == nil || clock.Wait(ctx, pace) != nil {
			return err
		}
	}
}

// awaitNothingLeft waits for the driver's goroutines and the client's connections to end, which takes a moment.
func (a *application) awaitNothingLeft() {
	deadline := time.Now().Add(leavePatience)
	for (len(driverGoroutines()) > 0 || a.dialer.open.Load() > 0) && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
	}
	if connections := a.dialer.open.Load(); connections > 0 {
		a.report.violation(leakedConns, "%d are open after Disconnect", connections)
	}
	for _, stack := range driverGoroutines() {
		a.report.violation(leakedGoroutines, "after Disconnect:\n%s", stack)
	}
}

// driverGoroutines returns the stacks of the driver's goroutines.
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

// dialer counts the open connections of a client.
type dialer struct {
	dial net.Dialer
	open atomic.Int64
}

// DialContext implements options.ContextDialer.
func (d *dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.dial.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	d.open.Add(1)
	return &countedConn{Conn: conn, closed: sync.OnceFunc(func() { d.open.Add(-1) })}, nil
}

type countedConn struct {
	net.Conn
	closed func()
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	c.closed()
	return c.Conn.Close()
}

// worker does one kind of operation, over and over.
type worker struct {
	*application
	name   string
	stream *stream
	calls  int64
}

// worker returns a worker. What its stream acknowledges has to be in that collection at the end, unless there is none.
func (a *application) worker(name, collection string) worker {
	w := worker{application: a, name: name, stream: &stream{}}
	if collection != "" {
		a.expect(collection, w.name, w.stream)
	}
	return w
}

func (a *application) expect(collection, name string, s *stream) {
	if a.ledger[collection] == nil {
		a.ledger[collection] = make(map[string]*stream)
	}
	a.ledger[collection][name] = s
}

func (w *worker) collection(name string, opts ...options.Lister[options.CollectionOptions]) *mongo.Collection {
	return w.client.Database(w.Database).Collection(name, opts...)
}

// comment returns a comment that no operation had before.
func (w *worker) comment() string {
	w.calls++
	return fmt.Sprintf("%s %d", w.name, w.calls)
}

func (a *application) hire(kind string, operate func(context.Context) error) {
	a.jobs = append(a.jobs, job{kind, operate})
}

// assemble makes the workers.
func (a *application) assemble() (err error) {
	a.watcher = &watcher{worker: a.worker("watcher", ""), seen: make(map[string][]int64)}
	a.registers = newRegisters()
	insert := &inserter{worker: a.worker("inserter", "inserts")}
	if insert.session, err = a.client.StartSession(); err != nil {
		return err
	}
	a.inserter = insert
	update := a.worker("updater", "updates")
	read := &reader{worker: a.worker("reader", ""), writer: insert}
	bulk := &bulker{worker: a.worker("bulker", "bulks"), pushes: &stream{}}
	a.expect("bulks", bulk.array(), bulk.pushes)
	modify := a.worker("modifier", "modified")
	transfer := &transferrer{a.worker("transferrer", "transfers"), rand.New(rand.NewPCG(a.Seed, 0))}
	audit, follow := a.worker("auditor", ""), &causal{worker: a.worker("causal", "")}
	a.leave = append(a.leave, insert.session.EndSession, follow.end)

	a.hire("insert", insert.insert)
	a.hire("update", update.push)
	a.hire("cursor", read.read)
	a.hire("bulk write", bulk.write)
	a.hire("findAndModify", modify.modify)
	a.hire("transfer", transfer.transfer)
	a.hire("snapshot", audit.audit)
	a.hire("causal session", follow.step)
	for i := range 2 {
		use := &accessor{worker: a.worker(fmt.Sprintf("accessor %d", i), ""), number: i,
			random: rand.New(rand.NewPCG(a.Seed+1, uint64(i)))}
		a.hire("register", use.access)
	}
	return nil
}

// verify compares the data on the members with what the workers were told.
func (a *application) verify(ctx context.Context, db *mongo.Database) error {
	found := make(map[string]map[string][]int64)
	for collection, streams := range a.ledger {
		var err error
		if found[collection], err = numbers(ctx, db.Collection(collection)); err != nil {
			return err
		}
		for name, s := range streams {
			s.check(collection+" of "+name, found[collection][name], a.report)
		}
	}
	a.watcher.check(a.inserter, found["inserts"])
	a.registers.check(a.report)
	sum, count, err := addUp(ctx, db.Collection("accounts"))
	if err != nil {
		return err
	}
	a.checkSum("the end", sum, count)
	return nil
}

// numbers returns each worker's numbers in a collection. There is a document for each number, or for each array of them, whose ID
// is the worker's name, possibly followed by a number.
func numbers(ctx context.Context, collection *mongo.Collection) (map[string][]int64, error) {
	cursor, err := collection.Find(ctx, bson.D{})
	if err != nil {
		return nil, err
	}
	var documents []struct {
		ID     bson.RawValue `bson:"_id"`
		Worker string        `bson:"worker"`
		N      bson.RawValue `bson:"n"`
	}
	if err := cursor.All(ctx, &documents); err != nil {
		return nil, err
	}
	found := make(map[string][]int64)
	for _, d := range documents {
		if n, ok := d.N.AsInt64OK(); ok {
			found[d.Worker] = append(found[d.Worker], n)
			continue
		}
		var array []int64
		if err := d.N.Unmarshal(&array); err != nil {
			return nil, err
		}
		name, _, _ := strings.Cut(d.ID.StringValue(), ",")
		found[name] = append(found[name], array...)
	}
	return found, nil
}
