package soak

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.uber.org/goleak"

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

	streams   map[string]*stream // by collection: what has to be there
	watcher   *watcher
	registers *registers
}

// Work does what is assigned, and returns the findings. The error is for a run that failed.
func Work(ctx context.Context, work Assignment) (*Report, error) {
	a := &application{Assignment: work, report: newReport(), streams: make(map[string]*stream), registers: newRegisters()}
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
	for _, name := range []string{"inserts", "updates", "bulks", "modified", "accounts", "transfers", "registers"} {
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
	others := goleak.IgnoreCurrent()
	if a.client, err = mongo.Connect(options.Client().ApplyURI(a.URI).SetDialer(&a.dialer)); err != nil {
		return err
	}
	err = a.work(ctx)
	err = errors.Join(err, a.client.Disconnect(context.WithoutCancel(ctx)))
	a.awaitNothingLeft(others)
	return err
}

// work runs all workers for the duration of the run, and then lets them finish.
func (a *application) work(ctx context.Context) error {
	session, err := a.client.StartSession()
	if err != nil {
		return err
	}
	defer session.EndSession(context.WithoutCancel(ctx))
	jobs := a.jobs(session)
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
	for kind, operate := range jobs {
		workers.Go(func() { a.repeat(working, kind, operate) })
	}
	workers.Wait()
	if err := a.last(ctx); err != nil {
		return fmt.Errorf("insert the last document: %w", err)
	}
	timer := time.AfterFunc(patience, stopWatching)
	defer timer.Stop()
	if err := <-watched; err != nil {
		a.report.violation("change streams that end early", "%v", err)
	}
	return nil
}

// repeat runs an operation until the context ends. The operation itself is not interrupted: a context with a deadline
// would put the driver's retries under a client-side timeout.
func (a *application) repeat(ctx context.Context, kind string, operate func(context.Context) error) {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			a.report.operation(kind, operate(context.WithoutCancel(ctx)))
		}
	}
}

// last inserts the document that ends the change stream. It insists, because an error must not look like a stream that ended.
func (a *application) last(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		_, err := a.client.Database(a.Database).Collection("inserts").UpdateOne(ctx, bson.D{{Key: "last", Value: true}},
			change("$set", "last", true), options.UpdateOne().SetUpsert(true))
		if err == nil || clock.Wait(ctx, pace) != nil {
			return err
		}
	}
}

// awaitNothingLeft waits for the driver's goroutines and the client's connections to end, which takes a moment.
func (a *application) awaitNothingLeft(others goleak.Option) {
	left := goleak.Find(others)
	for deadline := time.Now().Add(leavePatience); (left != nil || a.dialer.open.Load() > 0) && time.Now().Before(deadline); {
		left = goleak.Find(others)
	}
	if connections := a.dialer.open.Load(); connections > 0 {
		a.report.violation("connections that were leaked", "%d are open after Disconnect", connections)
	}
	if left != nil {
		a.report.violation("goroutines that were leaked", "after Disconnect: %v", left)
	}
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

// verify compares the data on the members with what the workers were told.
func (a *application) verify(ctx context.Context, db *mongo.Database) error {
	for collection, s := range a.streams {
		found, err := numbers(ctx, db.Collection(collection))
		if err != nil {
			return err
		}
		s.check(collection, found, a.report)
		if collection == "inserts" {
			a.watcher.check(s, found)
		}
	}
	a.registers.check(a.report)
	sum, count, err := addUp(ctx, db.Collection("accounts"))
	if err != nil {
		return err
	}
	a.checkSum("the end", sum, count)
	return nil
}

// numbers returns all numbers in a collection, whose documents have one or several.
func numbers(ctx context.Context, collection *mongo.Collection) ([]int64, error) {
	cursor, err := collection.Aggregate(ctx, mongo.Pipeline{{{Key: "$unwind", Value: "$n"}}})
	if err != nil {
		return nil, err
	}
	var documents []struct {
		N int64 `bson:"n"`
	}
	if err := cursor.All(ctx, &documents); err != nil {
		return nil, err
	}
	var found []int64
	for _, d := range documents {
		found = append(found, d.N)
	}
	return found, nil
}
