package parallel

import (
	"context"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
)

// oldGeneration asks whether a connection that is older than the last clearing of its pool can clear it again, of a client that tells of
// its pools: it lets reads wait at the servers, breaks one of their connections, waits until that has cleared the pool and the pool is
// ready again, and then breaks the others.
func (o *round) oldGeneration() {
	const reads = 12
	var a *application
	for i := range o.slots {
		if client := o.slots[i].Load(); client.monitors {
			a = client
		}
	}
	if a == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var reading sync.WaitGroup
	for range reads {
		reading.Go(func() {
			filter := bson.D{d("nonce", a.number), d("docs", int32(1)), d("slow", int32(1))}
			_, _ = a.Database("db").Collection("c").FindOne(ctx, filter).Raw()
		})
	}
	defer reading.Wait()
	defer close(o.servers.release)
	if !soon(func() bool { return len(o.servers.waiting()) == reads }) {
		return
	}
	o.breakTwice(a)
}

func (o *round) breakTwice(a *application) {
	held := o.servers.waiting()
	host := held[0].Host
	cleared, ready := a.times(host, event.ConnectionPoolCleared), a.times(host, event.ConnectionPoolReady)
	held[0].Reset()
	if !soon(func() bool {
		return a.times(host, event.ConnectionPoolCleared) > cleared && a.times(host, event.ConnectionPoolReady) > ready
	}) {
		return
	}
	cleared = a.times(host, event.ConnectionPoolCleared)
	for _, other := range held[1:] {
		if other.Host == host {
			other.Reset()
		}
	}
	time.Sleep(100 * time.Millisecond)
	if again := a.times(host, event.ConnectionPoolCleared) - cleared; again > 0 {
		o.finding("pool", "errors of connections that are older than the clearing of the pool of %s cleared it %d times more", host,
			again)
	}
}
