// The server closes connections during their hello; nobody cancels anything.
package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

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
	s := server.Start(server.OK)
	client := s.Connect(options.Client().SetMaxConnecting(callers).SetMaxAdaptiveRetries(0))
	s.Refuse.Store(math.MaxInt64)
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
