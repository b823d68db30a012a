// Overload is a small shop that counts what it notices of an overloaded server.
//
// It is an ordinary application of the MongoDB Go driver: nothing in it knows which driver it is built with, retries
// anything by itself, or causes the overload. It does a fixed number of operations on the server that MONGODB_URI names,
// checks afterwards that every write that was acknowledged took place, and prints what it counted as one line of JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// settings are the command line's.
type settings struct {
	workers    int
	operations int
	reports    int
	seed       int64
	pause      time.Duration
	appName    string
	database   string
}

// summary is the program's final output.
type summary struct {
	// Driver is the driver's version, followed by "(replaced)" if a replace line put another module in its place.
	Driver string `json:"driver"`
	// Operations is how many operations were done, whether they failed or not.
	Operations int64 `json:"operations"`
	// Errors is how many of them returned an error, OverloadErrors how many of those said that the server is overloaded.
	Errors         int64 `json:"errors"`
	OverloadErrors int64 `json:"overloadErrors"`
	// Reports is how many reports were written beside them, ReportErrors how many of those failed.
	Reports      int64 `json:"reports"`
	ReportErrors int64 `json:"reportErrors"`
	// LostWrites is how many writes were acknowledged and did not take place.
	LostWrites int64 `json:"lostWrites"`
	// Commands is how many commands went to the server for them.
	Commands int64   `json:"commands"`
	Seconds  float64 `json:"seconds"`
}

// check looks for mistakes before anything is done.
func (s settings) check(uri string) error {
	if uri == "" {
		return errors.New("MONGODB_URI is not set; set it to the URI of a replica set, such as " +
			"mongodb://127.0.0.1:27017/?replicaSet=rs0")
	}
	if s.workers < 1 || s.operations < 0 || s.reports < 0 {
		return errors.New("there must be at least one worker, and no negative number of operations or reports")
	}
	return nil
}

func main() {
	var s settings
	flag.IntVar(&s.workers, "workers", 8, "how many customers use the shop at the same time")
	flag.IntVar(&s.operations, "operations", 2000, "how many operations they do in all")
	flag.IntVar(&s.reports, "reports", 0,
		"how many writers of reports read at the same time; with -tags=criticality the driver holds them back first")
	flag.Int64Var(&s.seed, "seed", 1, "what their choices are drawn from")
	flag.DurationVar(&s.pause, "pause", 20*time.Millisecond, "how long each of them pauses after an operation")
	flag.StringVar(&s.appName, "app-name", "overload-shop", "application name that the server is told")
	flag.StringVar(&s.database, "database", "",
		"database to use, which must not exist and is dropped in the end (default one with a random name)")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	uri := os.Getenv("MONGODB_URI")
	err := s.check(uri)
	var result *summary
	if err == nil {
		result, err = run(ctx, s, uri)
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(result)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "overload:", err)
		os.Exit(1)
	}
}

// run opens the office and the shop, and checks the books when the customers have left.
func run(ctx context.Context, s settings, uri string) (_ *summary, err error) {
	// The office has another name, so that an overload that is limited to the shop spares it.
	client, err := mongo.Connect(options.Client().ApplyURI(uri).SetAppName(s.appName + "-office"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Disconnect(context.Background()) }()
	office, err := openOffice(ctx, client, s.database)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closeErr := office.close(); err == nil {
			err = closeErr
		}
	}()
	if err := office.fill(ctx); err != nil {
		return nil, err
	}
	result, books, err := open(ctx, s, uri, office.database.Name())
	if err != nil {
		return nil, err
	}
	result.LostWrites, err = office.lostWrites(ctx, books)
	return result, err
}

// open opens the shop, and returns what was counted when all customers have left. It disconnects then, which ends the
// transactions that an overload has left open.
func open(ctx context.Context, s settings, uri, database string) (*summary, []*book, error) {
	counts := new(counts)
	monitor := &event.CommandMonitor{Started: counts.command}
	client, err := mongo.Connect(options.Client().ApplyURI(uri).SetAppName(s.appName).SetMonitor(monitor))
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = client.Disconnect(context.Background()) }()
	start := time.Now()
	books := work(ctx, s, client.Database(database), counts)
	elapsed := time.Since(start)
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	// Before anything else is sent: disconnecting ends sessions, for one.
	result := counts.summary()
	result.Seconds = elapsed.Seconds()
	result.Driver = driverVersion()
	return result, books, nil
}

// work runs the workers' operations and returns what they were told about their writes.
func work(ctx context.Context, s settings, database *mongo.Database, counts *counts) []*book {
	stopProgress := counts.showProgress(os.Stderr, int64(s.operations))
	defer stopProgress()
	defer startReports(ctx, s, database, counts)()

	// Whoever is free does the next operation, so that all are busy until the end.
	remaining := make(chan struct{}, s.operations)
	for i := 0; i < s.operations; i++ {
		remaining <- struct{}{}
	}
	close(remaining)

	var all sync.WaitGroup
	books := make([]*book, s.workers)
	for i := range books {
		c := newCustomer(database, i, s.seed)
		books[i] = &c.book
		all.Add(1)
		go func() {
			defer all.Done()
			c.shop(ctx, remaining, s.pause, counts)
		}()
	}
	all.Wait()
	return books
}

// driverVersion returns the driver version that the program is built with.
func driverVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, module := range info.Deps {
		if module.Path != "go.mongodb.org/mongo-driver/v2" {
			continue
		}
		if module.Replace != nil {
			return module.Version + " (replaced)"
		}
		return module.Version
	}
	return "unknown"
}
