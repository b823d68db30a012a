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

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	appName    = "overload-shop"
	operations = 1200
)

// counts is what the shop counts, and the program's output.
type counts struct {
	mu   sync.Mutex
	seen map[string]bool // the kinds of operations of which an error was shown

	// Operations is how many operations were done, whether they failed or not.
	Operations int `json:"operations"`
	// Errors is how many of them returned an error, OverloadErrors how many of those said that the server is overloaded.
	Errors         int `json:"errors"`
	OverloadErrors int `json:"overloadErrors"`
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

func main() {
	rate := flag.Int("rate", 0, "let each member admit so many requests a second for three seconds, and reject all others")
	oneSecondary := flag.Bool("one-secondary", false, "only one secondary sheds load")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	result, err := run(ctx, os.Getenv("MONGODB_URI"), *rate, *oneSecondary)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(result)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "overload:", err)
		os.Exit(1)
	}
}

// run sets the shop up by a client of its own, which limits spare, and checks its books when the customers have left.
func run(ctx context.Context, uri string, rate int, oneSecondary bool) (result *counts, err error) {
	if uri == "" {
		return nil, errors.New("MONGODB_URI is not set; set it to the URI of a replica set, such as " +
			"mongodb://127.0.0.1:27017/?replicaSet=rs0")
	}
	client, err := mongo.Connect(options.Client().ApplyURI(uri).SetAppName(appName + "-office"))
	if err != nil {
		return nil, err
	}
	office := client.Database("overload_" + bson.NewObjectID().Hex())
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		err = errors.Join(err, office.Drop(ctx), client.Disconnect(ctx))
	}()
	index := mongo.IndexModel{Keys: bson.D{{Key: "customer", Value: 1}}}
	if _, err := office.Collection("orders").Indexes().CreateOne(ctx, index); err != nil {
		return nil, fmt.Errorf("set up the shop: %w", err)
	}
	if err := office.CreateCollection(ctx, "sales"); err != nil {
		return nil, fmt.Errorf("set up the shop: %w", err)
	}
	recovered := func() error { return nil }
	if rate > 0 {
		if recovered, err = shed(ctx, uri, rate, oneSecondary); err != nil {
			return nil, err
		}
	}
	result, customers, err := open(ctx, uri, office.Name())
	if err = errors.Join(err, recovered()); err != nil {
		return nil, err
	}
	for _, c := range customers {
		lost, err := c.lostWrites(ctx, office)
		if err != nil {
			return nil, fmt.Errorf("check the books: %w", err)
		}
		result.LostWrites += lost
	}
	return result, nil
}

// open opens the shop, and returns what was counted when all customers have left. It disconnects then, which ends the
// transactions that an overload has left open.
func open(ctx context.Context, uri, database string) (*counts, []*customer, error) {
	counts := &counts{seen: make(map[string]bool)}
	monitor := &event.CommandMonitor{Started: counts.command}
	client, err := mongo.Connect(options.Client().ApplyURI(uri).SetAppName(appName).SetMonitor(monitor))
	if err != nil {
		return nil, nil, err
	}
	start := time.Now()
	// Whoever is free does the next operation, so that all are busy until the end.
	remaining := make(chan struct{}, operations)
	for range operations {
		remaining <- struct{}{}
	}
	close(remaining)
	customers := make([]*customer, 8)
	var working sync.WaitGroup
	for i := range customers {
		customers[i] = newCustomer(client.Database(database), i)
		working.Go(func() { customers[i].shop(ctx, remaining, counts) })
	}
	working.Wait()
	counts.Seconds = time.Since(start).Seconds()
	_ = client.Disconnect(context.Background())
	return counts, customers, ctx.Err()
}
