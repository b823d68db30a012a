// Defects shows a defect of upstream's driver: each function is one.
package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

func main() {
	defects := map[string]func(){
		"balancer": balancer, "bulkresults": bulkresults, "canceled": canceled, "checkout": checkout,
		"disconnect": disconnect, "graceful": graceful,
		"hellotypes": hellotypes, "leftout": leftout, "limit": limit, "maxawait": maxawait, "nilerror": nilerror, "output": output, "pool": pool,
		"quiet": quiet, "refused": refused, "resume": resume, "searchindex": searchindex, "selection": selection,
		"timeoutcode": timeoutcode, "wholetimeout": wholetimeout, "zero": zero,
	}
	show, known := defects[strings.Join(os.Args[1:], " ")]
	if !known {
		fmt.Fprintf(os.Stderr, "give one of %q\n", slices.Sorted(maps.Keys(defects)))
		os.Exit(2)
	}
	show()
}

// balancer is an insert, and one in an explicit session, by a client of a service behind a load balancer.
func balancer() {
	s := start(ok)
	client := s.behind()
	_, err := client.Database("db").Collection("coll").InsertOne(context.Background(), bson.D{})
	fmt.Printf("InsertOne: lsid %v, txnNumber %v, error: %v\n", s.field("lsid"), s.field("txnNumber"), err)
	err = client.UseSession(context.Background(), func(ctx context.Context) error {
		_, err := client.Database("db").Collection("coll").InsertOne(ctx, bson.D{})
		return err
	})
	fmt.Printf("InsertOne in a session: error: %v\n", err)
}

// canceled is pings whose connections the server closes during their hello; nobody cancels anything.
func canceled() {
	const (
		callers = 32
		pings   = 1600 // of each caller
		threads = 16
	)
	// The error is lost if its goroutine is interrupted for a moment, as happens with more threads than processors.
	runtime.GOMAXPROCS(threads)
	s := start(ok)
	client := s.connect(fmt.Sprintf("maxConnecting=%d&maxAdaptiveRetries=0", callers))
	s.refuse.Store(math.MaxInt64)
	var network, canceled atomic.Int64
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range pings {
				switch err := client.Ping(context.Background(), nil); {
				case errors.Is(err, context.Canceled):
					canceled.Add(1)
				case mongo.IsNetworkError(err):
					network.Add(1)
				default:
					return // v2.5.0 waits for a server that it no longer knows
				}
			}
		})
	}
	wg.Wait()
	fmt.Printf("%d pings, network errors: %d, context.Canceled: %d\n", network.Load()+canceled.Load(), network.Load(),
		canceled.Load())
}

// disconnect is clients that connect, ping and disconnect. Nothing is in progress then except the monitor's streaming hello.
func disconnect() {
	const (
		runs     = 400
		interval = time.Second
	)
	s := start(ok)
	slow, slowest := 0, time.Duration(0)
	for range runs {
		client := s.connect(fmt.Sprintf("heartbeatFrequencyMS=%d", interval.Milliseconds()))
		must(client.Ping(context.Background(), nil))
		start := time.Now()
		_ = client.Disconnect(context.Background())
		took := time.Since(start)
		if slowest = max(slowest, took); took > interval/2 {
			slow++
		}
	}
	fmt.Printf("%d clients, took more than %v to disconnect: %d, the slowest %v\n", runs, interval/2, slow,
		slowest.Round(time.Millisecond))
}

// leftout is commands that are rejected twice by an overloaded server, which find gets over.
func leftout() {
	s := start(func(n int64) bson.M {
		if n <= 2 {
			return overloaded()
		}
		return ok(n)
	})
	ctx, db := context.Background(), s.connect("maxAdaptiveRetries=2").Database("db")
	for _, command := range []struct {
		name string
		run  func() error
	}{
		{name: "find", run: func() error { _, err := db.Collection("coll").Find(ctx, bson.D{}); return err }},
		{name: "create", run: func() error { return db.CreateCollection(ctx, "coll") }},
		{name: "drop", run: func() error { return db.Collection("coll").Drop(ctx) }},
		{name: "dropDatabase", run: func() error { return db.Drop(ctx) }},
		{name: "dropSearchIndex", run: func() error { return db.Collection("coll").SearchIndexes().DropOne(ctx, "index") }},
	} {
		s.commands.Store(0)
		err := command.run()
		fmt.Printf("%s: %d commands, then: %v\n", command.name, s.commands.Load(), err)
	}
}

// limit is one overload error, and then errors that are retryable otherwise, under a timeout of one second.
func limit() {
	s := start(func(n int64) bson.M {
		if n == 1 {
			return overloaded()
		}
		return failed(134) // ReadConcernMajorityNotAvailableYet
	})
	err := s.coll("timeoutMS=1000&maxAdaptiveRetries=2").FindOne(context.Background(), bson.D{}).Err()
	fmt.Printf("one find with maxAdaptiveRetries=2: more than 3 commands: %v\n", s.commands.Load() > 3)
	fmt.Printf("%d commands, then: %v\n", s.commands.Load(), err)
}

// nilerror is writes that the server rejects, by a client that does not retry them.
func nilerror() {
	s := start(func(int64) bson.M {
		return failed(462, "SystemOverloadedError", "RetryableError", "NoWritesPerformed")
	})
	coll := s.coll("retryWrites=false")
	_, err := coll.InsertOne(context.Background(), bson.D{{Key: "x", Value: 1}})
	fmt.Printf("InsertOne, rejected: %d commands, error: %v\n", s.commands.Load(), err)
	_, err = coll.UpdateMany(context.Background(), bson.D{}, bson.D{{Key: "$set", Value: bson.D{{Key: "x", Value: 1}}}})
	fmt.Printf("UpdateMany, rejected: %d commands, error: %v\n", s.commands.Load(), err)
}

// output is aggregates under a timeout: only the server can end what it writes.
func output() {
	s := start(ok)
	coll := s.coll("timeoutMS=10000")
	for _, stage := range []string{"$out", "$merge"} {
		_, err := coll.Aggregate(context.Background(), mongo.Pipeline{{{Key: stage, Value: "other"}}})
		fmt.Printf("aggregate with %s: maxTimeMS %v, error: %v\n", stage, s.field("maxTimeMS"), err)
	}
}

// pool is the events of a pool whose server is not there: nothing was ever in the pool.
func pool() {
	events := make(chan *event.PoolEvent, 100)
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://127.0.0.1:1").
		SetPoolMonitor(&event.PoolMonitor{Event: func(e *event.PoolEvent) { events <- e }}))
	must(err)
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_ = client.Ping(ctx, nil)
	for len(events) > 0 {
		fmt.Println((<-events).Type)
	}
}

// refused is a command that needs a connection, which a server that limits the rate of new ones closes.
func refused() {
	s := start(ok)
	coll := s.coll("serverMonitoringMode=poll") // which opens one connection
	s.refuse.Store(1)
	for _, attempt := range []string{"first find", "second find"} {
		_, err := coll.Find(context.Background(), bson.D{})
		var labeled mongo.LabeledError
		labels := errors.As(err, &labeled) && labeled.HasErrorLabel("SystemOverloadedError") &&
			labeled.HasErrorLabel("RetryableError")
		fmt.Printf("%s: failed %v, with both labels %v\n", attempt, err != nil, labels)
	}
}

// resume is a change stream whose getMore an overloaded server ends each time: it can be resumed, the command must not be sent again.
func resume() {
	var s *server
	s = start(func(int64) bson.M {
		if s.field("getMore") {
			return failed(473, "SystemOverloadedError", "ResumableChangeStreamError")
		}
		return bson.M{"ok": 1, "cursor": bson.M{"id": int64(7), "ns": "db.coll", "firstBatch": bson.A{}}}
	})
	stream, err := s.coll("").Watch(context.Background(), mongo.Pipeline{})
	must(err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	stream.Next(ctx)
	fmt.Printf("one second of Next: more than 100 commands: %v\n%d commands\n", s.commands.Load() > 100, s.commands.Load())
}

// searchindex is an error of the server for a command about search indexes, and the same for another command.
func searchindex() {
	s := start(func(int64) bson.M { return failed(13) }) // Unauthorized
	ctx, coll := context.Background(), s.coll("")
	tell := func(method string, err error) {
		var command mongo.CommandError
		var server mongo.ServerError
		fmt.Printf("%s: CommandError %v, ServerError %v, %T\n", method, errors.As(err, &command), errors.As(err, &server), err)
	}
	tell("Collection.Drop", coll.Drop(ctx))
	tell("SearchIndexView.DropOne", coll.SearchIndexes().DropOne(ctx, "index"))
	tell("SearchIndexView.UpdateOne", coll.SearchIndexes().UpdateOne(ctx, "index", bson.D{}))
}

// timeoutcode is a server that has run out of maxTimeMS, and says so in each of the three ways.
func timeoutcode() {
	expired := bson.M{"code": 50, "codeName": "MaxTimeMSExpired", "errmsg": "operation exceeded time limit", "index": 0}
	for _, reply := range []bson.M{
		{"ok": 0, "code": 50, "errmsg": "operation exceeded time limit"},
		{"ok": 1, "n": 0, "writeErrors": bson.A{expired}},
		{"ok": 1, "n": 1, "writeConcernError": expired},
	} {
		coll := start(func(int64) bson.M { return reply }).coll("")
		_, one := coll.InsertOne(context.Background(), bson.D{})
		_, many := coll.InsertMany(context.Background(), []any{bson.D{}})
		fmt.Printf("IsTimeout: InsertOne %v, InsertMany %v, Drop %v\n", mongo.IsTimeout(one), mongo.IsTimeout(many),
			mongo.IsTimeout(coll.Drop(context.Background())))
	}
}

// zero is maxAdaptiveRetries=0, and an overload error that is also a retryable read.
func zero() {
	s := start(func(int64) bson.M { return failed(134, "SystemOverloadedError", "RetryableError") })
	err := s.coll("maxAdaptiveRetries=0").FindOne(context.Background(), bson.D{}).Err()
	fmt.Printf("one find with maxAdaptiveRetries=0: %d commands, then: %v\n", s.commands.Load(), err)
}
