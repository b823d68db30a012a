// Clients connect, ping and disconnect. Nothing is in progress then except the monitor's streaming hello.
package main

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork.internal/defects/server"
)

const (
	runs     = 400
	interval = time.Second
)

func main() {
	s := server.Start(server.OK)
	slow, slowest := 0, time.Duration(0)
	for range runs {
		client := s.Connect(options.Client().SetHeartbeatInterval(interval))
		if err := client.Ping(context.Background(), nil); err != nil {
			panic(err)
		}
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
