// Package application is an application whose clients tell Prometheus of their retries.
package application

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"golang.org/x/sync/errgroup"

	mongoprom "mongofork.internal/prometheus"
)

const (
	// Database is the one that the application uses.
	Database = "dashboard"
	// documents is how many there are to be found.
	documents = 100
	// inFlight is how many operations of a client wait at a time, at most.
	inFlight = 1000
	// goodbye bounds how long a client takes to disconnect.
	goodbye = 5 * time.Second
)

// Load is what one client of the application does.
type Load struct {
	// Client is the label that the client's metrics have.
	Client string
	// Rate is how many operations it begins in a second, whether those before have ended or not.
	Rate int
	// Timeout is how long an operation may take.
	Timeout time.Duration
	// Writes tells whether every other operation is an insert; the others find, at secondaries if there are any.
	Writes bool
	// Throttle tells whether the client has adaptiveThrottling, in the place of adaptiveRetries.
	Throttle bool
}

// Application is an application that has connected.
type Application struct {
	clients  []*client
	server   *http.Server
	listener net.Listener
}

type client struct {
	load    Load
	mongo   *mongo.Client
	began   atomic.Int64
	failed  atomic.Int64
	skipped atomic.Int64 // as too many were waiting
}

// Connect connects the clients. Their metrics are served at URL as soon as the application runs, which it has to.
func Connect(uri string, loads ...Load) (*Application, error) {
	registry := prometheus.NewPedanticRegistry()
	a := &Application{}
	for _, load := range loads {
		collector := mongoprom.NewCollector(prometheus.Labels{"client": load.Client})
		if err := registry.Register(collector); err != nil {
			return nil, err
		}
		connected, err := mongo.Connect(options.Client().ApplyURI(uri).SetAppName("dashboard " + load.Client).
			SetTimeout(load.Timeout).SetAdaptiveRetries(!load.Throttle).SetAdaptiveThrottling(load.Throttle).
			SetRetryMonitor(collector.Monitor()))
		if err != nil {
			return nil, err
		}
		collector.ObserveTokens(connected.RetryTokens)
		collector.ObserveThrottling(connected.ThrottleProbabilities)
		a.clients = append(a.clients, &client{load: load, mongo: connected})
	}
	var err error
	if a.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	a.server = &http.Server{
		Handler:           promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
		ReadHeaderTimeout: goodbye,
	}
	return a, nil
}

// URL is where the application serves its metrics.
func (a *Application) URL() string { return "http://" + a.listener.Addr().String() }

// Run lets the clients work until the context ends, and then returns nil. What fails is counted.
func (a *Application) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := a.server.Serve(a.listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		return a.server.Close()
	})
	for _, c := range a.clients {
		group.Go(func() error { return c.run(ctx) })
	}
	return group.Wait()
}

// Prepare puts the documents there that are to be found. What is left of an earlier run is dropped.
func (a *Application) Prepare(ctx context.Context) error {
	database := a.clients[0].mongo.Database(Database)
	if err := database.Drop(ctx); err != nil {
		return fmt.Errorf("drop the database %s: %w", Database, err)
	}
	all := make([]any, documents)
	for i := range all {
		all[i] = bson.D{{Key: "_id", Value: i}}
	}
	if _, err := database.Collection("stock").InsertMany(ctx, all); err != nil {
		return fmt.Errorf("insert the documents that are to be found: %w", err)
	}
	return nil
}

// Close drops the database and disconnects the clients.
func (a *Application) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	failures := []error{a.clients[0].mongo.Database(Database).Drop(ctx)}
	for _, c := range a.clients {
		failures = append(failures, c.mongo.Disconnect(ctx))
	}
	return errors.Join(failures...)
}

// Summary says, at any time, in a line for each client what came of its operations.
func (a *Application) Summary() []string {
	var lines []string
	for _, c := range a.clients {
		lines = append(lines, fmt.Sprintf("client %s: %d operations, %d failed, %d not begun as %d were waiting",
			c.load.Client, c.began.Load(), c.failed.Load(), c.skipped.Load(), inFlight))
	}
	return lines
}

// run begins operations at the client's rate until the context ends, and waits for them.
func (c *client) run(ctx context.Context) error {
	var operations errgroup.Group
	operations.SetLimit(inFlight)
	ticker := time.NewTicker(time.Second / time.Duration(c.load.Rate))
	defer ticker.Stop()
	for number := int64(0); ; number++ {
		select {
		case <-ctx.Done():
			return operations.Wait()
		case <-ticker.C:
		}
		begun := operations.TryGo(func() error {
			c.began.Add(1)
			// An end of the run must not look like a failure: operations have a timeout of their own.
			if err := c.operation(context.WithoutCancel(ctx), number); err != nil {
				c.failed.Add(1)
			}
			return nil
		})
		if !begun {
			c.skipped.Add(1)
		}
	}
}

func (c *client) operation(ctx context.Context, number int64) error {
	database := c.mongo.Database(Database)
	if c.load.Writes && number%2 == 0 {
		_, err := database.Collection(c.load.Client).InsertOne(ctx, bson.D{{Key: "number", Value: number}})
		return err
	}
	stock := database.Collection("stock", options.Collection().SetReadPreference(readpref.SecondaryPreferred()))
	return stock.FindOne(ctx, bson.D{{Key: "_id", Value: number % documents}}).Err()
}
