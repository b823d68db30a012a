package main

import (
	"context"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
)

// What a server has to miss until it counts as lost: so many reads for each server, while the client checked another one so often. On a
// slow machine both take longer.
const (
	missed     = 60
	heartbeats = 20
	failed     = 4 // reads in a row, each after all retries and the time for the selection of a server
)

// askForShare asks, once all servers are up again, whether a client uses each of them.
func (a *application) askForShare(ctx context.Context) {
	start, hosts := time.Now(), a.servers.Hosts()
	before, errs := a.checks(hosts), 0
	for n := 1; ctx.Err() == nil; n++ {
		filter := bson.D{d("nonce", a.number), d("probe", a.number), d("docs", int32(1))}
		_, err := a.Database("db").Collection("c").FindOne(ctx, filter).Raw()
		if errs++; err == nil {
			errs = 0
		}
		lost, spent := a.servers.unused(a.number), time.Since(start).Round(time.Second)
		switch {
		case errs >= failed:
			a.run.finding("share", "client %d cannot read although all servers have been up for %v: %v", a.number, spent, err)
			return
		case len(lost) == 0:
			return
		case n < missed*len(hosts):
		case a.checks(hosts) >= before+heartbeats || spent > patience/4:
			a.run.finding("share", "client %d (%q) sent %d reads, in %v, to %d of %d servers that are up, and none to %s",
				a.number, a.uri, n, spent, len(hosts)-len(lost), len(hosts), lost)
			return
		default:
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// checks returns how often the client has checked the server that it checked most often.
func (a *application) checks(hosts []string) (most int) {
	for _, host := range hosts {
		most = max(most, a.times(host, checked))
	}
	return most
}

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
