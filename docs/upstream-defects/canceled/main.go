// The server closes connections during their hello; nobody cancels anything.
package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"mongofork.internal/defects/server"
)

const (
	callers = 32
	pings   = 1600 // of each caller
	threads = 16
)

func main() {
	// The error is lost if its goroutine is interrupted for a moment, as happens with more threads than processors.
	runtime.GOMAXPROCS(threads)
	s := server.Start(func(int64, string) bson.D { return server.OK() })
	known, once := make(chan struct{}), sync.Once{}
	monitor := &event.ServerMonitor{ServerHeartbeatSucceeded: func(*event.ServerHeartbeatSucceededEvent) {
		once.Do(func() { close(known) })
	}}
	client, err := mongo.Connect(s.Options().SetServerMonitor(monitor).SetMaxConnecting(callers).SetMaxAdaptiveRetries(0))
	if err != nil {
		panic(err)
	}
	<-known
	s.RefuseHello.Store(true)
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
				}
			}
		})
	}
	wg.Wait()
	fmt.Printf("%d pings, network errors: %d, context.Canceled: %d\n", callers*pings, network.Load(), canceled.Load())
}
