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
	"math/rand"
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
	workers    = 8
	operations = 1200
	// pause is how long everybody pauses after an operation.
	pause = 20 * time.Millisecond
)

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
	uri := os.Getenv("MONGODB_URI")
	var l limit
	flag.IntVar(&l.rate, "rate", 0, "let each member admit so many requests a second for three seconds, and reject all others")
	flag.BoolVar(&l.oneSecondary, "one-secondary", false, "only one secondary sheds load")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	result, err := run(ctx, uri, l)
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
func run(ctx context.Context, uri string, l limit) (result *counts, err error) {
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
	if l.rate > 0 {
		if recovered, err = l.shed(ctx, uri); err != nil {
			return nil, err
		}
	}
	result, customers, err := open(ctx, uri, office.Name())
	if err = errors.Join(err, recovered()); err != nil {
		return nil, err
	}
	result.LostWrites, err = lostWrites(ctx, office, customers)
	return result, err
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
	for i := 0; i < operations; i++ {
		remaining <- struct{}{}
	}
	close(remaining)
	var customers []*customer
	var working sync.WaitGroup
	for i := 0; i < workers; i++ {
		c := newCustomer(client.Database(database), i)
		customers = append(customers, c)
		working.Add(1)
		go func() {
			defer working.Done()
			c.shop(ctx, remaining, counts)
		}()
	}
	working.Wait()
	counts.Seconds = time.Since(start).Seconds()
	_ = client.Disconnect(context.Background())
	return counts, customers, ctx.Err()
}

// lostWrites compares what customers were told with the database and returns how many acknowledged writes are not in it. More may be
// in it: a failed operation may have done its write nevertheless.
func lostWrites(ctx context.Context, office *mongo.Database, customers []*customer) (lost int64, err error) {
	for _, c := range customers {
		lost += int64(len(c.orders))
		present, err := office.Collection("orders").CountDocuments(ctx,
			bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: c.orders}}}})
		if err != nil {
			return 0, fmt.Errorf("count the orders: %w", err)
		}
		var sales struct{ Sold int64 }
		err = office.Collection("sales").FindOne(ctx, bson.D{{Key: "_id", Value: c.name}}).Decode(&sales)
		if err != nil && !errors.Is(err, mongo.ErrNoDocuments) {
			return 0, fmt.Errorf("read the sales: %w", err)
		}
		if lost -= present; sales.Sold < c.sold {
			lost += c.sold - sales.Sold
		}
	}
	return lost, nil
}

// newCustomer returns a customer, whose choices are always the same.
func newCustomer(database *mongo.Database, number int) *customer {
	return &customer{
		database: database, name: fmt.Sprintf("customer %d", number), random: rand.New(rand.NewSource(int64(number))),
		orders: bson.A{},
	}
}
