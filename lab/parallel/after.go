package parallel

import (
	"context"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// What a server has to miss until it counts as lost: so many commands for each server, and so many heartbeats of each client.
const (
	missed     = 60
	heartbeats = 20
	failed     = 4 // reads in a row, each after all retries and the time for the selection of a server
)

// share asks, once all servers are up again, whether each client uses each of them.
func (o *round) share() {
	if !o.routed() {
		return
	}
	var asking sync.WaitGroup
	for i := range o.slots {
		asking.Go(func() { o.ask(o.slots[i].Load()) })
	}
	asking.Wait()
}

// ask sends commands until each server has got one, or one of them is taken for lost.
func (o *round) ask(a *application) {
	hosts := o.servers.cluster.Hosts()
	coll := a.Database("db").Collection("c")
	start, before, errs := time.Now(), o.servers.beats(), 0
	for n := 1; ; n++ {
		_, err := coll.FindOne(context.Background(), bson.D{d("nonce", a.number), d("probe", a.number), d("n", 1)}).Raw()
		if errs++; err == nil {
			errs = 0
		}
		lost := o.unused(a.number, hosts)
		spent := time.Since(start).Round(time.Second)
		switch {
		case errs >= failed:
			o.finding("share", "client %d cannot read although all servers have been up for %v: %v", a.number, spent, err)
			return
		case len(lost) == 0:
			return
		case n < missed*len(hosts):
		case o.servers.beats()[lost[0]] >= before[lost[0]]+heartbeats*len(o.slots) && spent >= heartbeats*o.kind.interval() || spent > patience/4:
			o.finding("share", "client %d sent %d reads, in %v, to %d of %d servers that are up, and none to %s: it has lost them",
				a.number, n, spent, len(hosts)-len(lost), len(hosts), lost)
			return
		default:
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// unused returns the hosts that have got nothing of a client.
func (o *round) unused(client int32, hosts []string) (lost []string) {
	o.servers.mu.Lock()
	defer o.servers.mu.Unlock()
	for _, host := range hosts {
		if o.servers.probes[host][client] == 0 {
			lost = append(lost, host)
		}
	}
	return lost
}

// oldGeneration asks whether a connection that is older than the last clearing of its pool can clear it again.
func (o *round) oldGeneration() {
	if !o.routed() {
		return
	}
	for i := range o.slots {
		if a := o.slots[i].Load(); a.monitors {
			o.clearTwice(a)
			return
		}
	}
}

// clearTwice lets reads wait at the servers, breaks one of their connections, waits until the pool has been cleared and is ready again, and
// then breaks the others.
func (o *round) clearTwice(a *application) {
	const reads = 12
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	coll := a.Database("db").Collection("c")
	var reading sync.WaitGroup
	for range reads {
		reading.Go(func() { _, _ = coll.FindOne(ctx, bson.D{d("nonce", a.number), d("n", 1), d("slow", true)}).Raw() })
	}
	defer reading.Wait()
	defer close(o.servers.stale)
	if !wait(func() bool { return len(o.servers.held()) == reads }) {
		return
	}
	held := o.servers.held()
	host := held[0].Host
	cleared, readied := a.pools(host)
	held[0].Reset()
	if !wait(func() bool { c, r := a.pools(host); return c > cleared && r > readied }) {
		return
	}
	cleared, _ = a.pools(host)
	for _, other := range held[1:] {
		if other.Host == host {
			other.Reset()
		}
	}
	time.Sleep(100 * time.Millisecond)
	if again, _ := a.pools(host); again > cleared {
		o.finding("pool", "errors of connections that are older than the clearing of the pool of %s cleared it %d times more", host,
			again-cleared)
	}
}

// wait waits for some seconds.
func wait(until func() bool) bool {
	for range 1000 {
		if until() {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}
