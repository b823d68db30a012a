// Overload is a small shop that counts what it notices of an overloaded server.
//
// It is an ordinary application of the MongoDB Go driver: nothing in it knows which driver it is built with, or retries
// anything by itself. It does a fixed number of operations on the replica set that MONGODB_URI names, whose members it lets
// shed load meanwhile if it is asked to, checks afterwards that every write that was acknowledged took place, and prints
// what it counted as one line of JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	appName = "overload-shop"
	workers = 8
)

// settings are the command line's.
type settings struct {
	uri        string
	operations int
	reports    int
	limit      limit
}

// counts is what the shop counts, and the program's output.
type counts struct {
	mu sync.Mutex
	// seen has the kinds of operations of which an error was shown.
	seen map[string]bool

	// Operations is how many operations were done, whether they failed or not.
	Operations int `json:"operations"`
	// Errors is how many of them returned an error, OverloadErrors how many of those said that the server is overloaded.
	Errors         int `json:"errors"`
	OverloadErrors int `json:"overloadErrors"`
	// Reports is how many reports were written beside them, ReportErrors how many of those failed.
	Reports      int `json:"reports"`
	ReportErrors int `json:"reportErrors"`
	// LostWrites is how many writes were acknowledged and did not take place.
	LostWrites int64 `json:"lostWrites"`
	// Commands is how many commands went to the server for them, without what ends sessions.
	Commands int     `json:"commands"`
	Seconds  float64 `json:"seconds"`
}

func (c *counts) command(_ context.Context, started *event.CommandStartedEvent) {
	if started.CommandName != "endSessions" {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.Commands++
	}
}

// operation counts an operation and what it returned.
func (c *counts) operation(name string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Operations++
	if err == nil {
		return
	}
	c.Errors++
	var labelled mongo.LabeledError
	if errors.As(err, &labelled) && labelled.HasErrorLabel("SystemOverloadedError") {
		c.OverloadErrors++
	}
	if !c.seen[name] {
		c.seen[name] = true
		fmt.Fprintf(os.Stderr, "  an error of %s: %v\n", name, err)
	}
}

// report counts a report and what it returned.
func (c *counts) report(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Reports++
	if err != nil {
		c.ReportErrors++
	}
}

func main() {
	s := settings{uri: os.Getenv("MONGODB_URI")}
	flag.IntVar(&s.operations, "operations", 1200, "how many operations the customers do in all")
	flag.IntVar(&s.reports, "reports", 0,
		"how many writers of reports read at the same time; with -tags=criticality the driver holds them back first")
	flag.IntVar(&s.limit.rate, "rate", 0, "let each member admit so many requests a second, and reject all others")
	flag.DurationVar(&s.limit.lasts, "for", 3*time.Second, "how long")
	flag.BoolVar(&s.limit.oneSecondary, "one-secondary", false, "only one secondary sheds load")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	result, err := run(ctx, s)
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
func run(ctx context.Context, s settings) (_ *counts, err error) {
	if s.uri == "" {
		return nil, errors.New("MONGODB_URI is not set; set it to the URI of a replica set, such as " +
			"mongodb://127.0.0.1:27017/?replicaSet=rs0")
	}
	office, err := openOffice(ctx, s.uri)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, office.close()) }()
	recovered := func() error { return nil }
	if s.limit.rate > 0 {
		if recovered, err = s.limit.shed(ctx, s.uri); err != nil {
			return nil, err
		}
	}
	result, books, err := open(ctx, s, office.database.Name())
	if err = errors.Join(err, recovered()); err != nil {
		return nil, err
	}
	result.LostWrites, err = office.lostWrites(ctx, books)
	return result, err
}

// open opens the shop, and returns what was counted when all customers have left. It disconnects then, which ends the
// transactions that an overload has left open.
func open(ctx context.Context, s settings, database string) (*counts, []*book, error) {
	counts := &counts{seen: make(map[string]bool)}
	monitor := &event.CommandMonitor{Started: counts.command}
	client, err := mongo.Connect(options.Client().ApplyURI(s.uri).SetAppName(appName).SetMonitor(monitor))
	if err != nil {
		return nil, nil, err
	}
	start := time.Now()
	books := work(ctx, s, client.Database(database), counts)
	counts.Seconds = time.Since(start).Seconds()
	_ = client.Disconnect(context.Background())
	return counts, books, ctx.Err()
}

// work lets the customers do the operations, and returns what they were told about their writes.
func work(ctx context.Context, s settings, database *mongo.Database, counts *counts) []*book {
	// Whoever is free does the next operation, so that all are busy until the end.
	remaining := make(chan struct{}, s.operations)
	for i := 0; i < s.operations; i++ {
		remaining <- struct{}{}
	}
	close(remaining)

	reporting, stopReports := context.WithCancel(ctx)
	var customers, clerks sync.WaitGroup
	books := make([]*book, workers)
	for i := 0; i < workers+s.reports; i++ {
		c := newCustomer(database, i)
		if i >= workers {
			clerks.Add(1)
			go func() {
				defer clerks.Done()
				c.writeReports(reporting, counts)
			}()
			continue
		}
		books[i] = &c.book
		customers.Add(1)
		go func() {
			defer customers.Done()
			c.shop(ctx, remaining, counts)
		}()
	}
	customers.Wait()
	stopReports()
	clerks.Wait()
	return books
}
