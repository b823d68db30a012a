package parallel

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
)

// application is a client with what it keeps.
type application struct {
	*mongo.Client
	variant
	name    string
	round   *round
	leaving atomic.Bool // it is disconnected
	kept    shelf       // by monitors

	mu    sync.Mutex
	heard map[string]int // by server and kind of event
}

// variant are the options of a client.
type variant struct {
	uri      string
	monitors bool // it has all monitors; without those of pools and commands, it takes shorter ways
}

var variants = []variant{{"", false}, {"", true}, {"adaptiveThrottling=true&compressors=snappy", false}, {"adaptiveRetries=true", false},
	{"adaptiveThrottling=true&adaptiveRetries=true&minPoolSize=2", true},
	{"retryReads=false&retryWrites=false&maxPoolSize=3&compressors=zlib", false}}

// heartbeat is the shortest interval that the specification permits.
const heartbeat = 500 * time.Millisecond

// connect starts a client.
func (o *round) connect(number int) *application {
	a := &application{name: fmt.Sprint("client ", number), variant: variants[number%len(variants)], round: o, kept: shelf{run: o.run},
		heard: map[string]int{}}
	if o.kind.batch > 0 || o.kind.topology == balanced { // there, calls hold a connection while they wait for another
		a.uri = strings.Replace(a.uri, "PoolSize=3", "PoolSize=9", 1) // eight goroutines use a client at most
	}
	opts := o.Client(a.uri).SetHeartbeatInterval(max(o.kind.heartbeat, heartbeat)).SetLocalThreshold(time.Hour).
		SetServerSelectionTimeout(10 * time.Second)
	a.setMonitors(opts)
	list := []*options.ClientOptions{opts, nil}
	client, err := mongo.Connect(list[:1]...)
	if err != nil {
		panic(err)
	}
	if a.Client = client; list[1] != nil {
		o.finding("handed in", "the driver wrote behind the end of the slice of options that Connect got")
	}
	return a
}

// disconnect ends the client, and asks what it leaves.
func (a *application) disconnect(calm bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if n := a.NumberSessionsInProgress(); n != 0 && calm {
		a.round.finding("left", "%d sessions are in use although no operation is under way", n)
	}
	a.leaving.Store(true)
	if err := a.Disconnect(ctx); err != nil {
		a.round.finding("left", "Disconnect fails: %v", err)
	}
	for _, host := range a.round.Hosts() {
		if n := a.times(host, event.ConnectionCheckedOut) - a.times(host, event.ConnectionCheckedIn); n != 0 && calm {
			a.round.finding("left", "%d connections to %s are checked out after the client was disconnected", n, host)
		}
	}
	a.kept.close()
}

// setMonitors sets a monitor of servers, which keeps all that it gets, and all others if the variant has them: that of retries if the
// driver is the fork.
func (a *application) setMonitors(opts *options.ClientOptions) {
	of := reflect.ValueOf(opts)
	for _, name := range []string{"SetServerMonitor", "SetMonitor", "SetPoolMonitor", "SetRetryMonitor"} {
		set := of.MethodByName(name)
		if !set.IsValid() || !a.monitors && name != "SetServerMonitor" {
			continue
		}
		monitor := reflect.New(set.Type().In(0).Elem())
		for i := range monitor.Elem().NumField() {
			function := monitor.Elem().Field(i)
			function.Set(reflect.MakeFunc(function.Type(), func(args []reflect.Value) []reflect.Value {
				a.hear(args[len(args)-1].Interface())
				return nil
			}))
		}
		set.Call([]reflect.Value{monitor})
	}
}

// hear keeps an event, and counts what it says of a server.
func (a *application) hear(happened any) {
	_, reply := happened.(*event.CommandSucceededEvent) // whose room is the driver's
	a.kept.keep("an event", happened, !reply)
	a.mu.Lock()
	defer a.mu.Unlock()
	if e, ofPool := happened.(*event.PoolEvent); ofPool {
		a.heard[e.Address+" "+e.Type]++
		if e.Type == event.ConnectionPoolCleared {
			a.round.cleared.Add(1)
		}
	}
}

// times returns how often the client said something of a server.
func (a *application) times(host, what string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.heard[host+" "+what]
}

// collection returns one that is read from any server.
func (a *application) collection(name string) *mongo.Collection {
	return a.Database("db").Collection(name, options.Collection().SetReadPreference(readpref.Nearest()))
}

// read lets the client read a document that is there. The comment says how servers treat that.
func (a *application) read(ctx context.Context, comment string) error {
	return a.collection("fs.files").FindOne(ctx, bson.D{}, options.FindOne().SetComment(comment)).Err()
}

// askForShare asks, once all servers are up again, whether a client uses each of them.
func (a *application) askForShare(ctx context.Context) {
	var err error
	used := func() bool {
		err = a.read(ctx, a.name)
		return len(a.round.unused(a.name)) == 0 || ctx.Err() != nil
	}
	if !within(patience/5, used) {
		a.round.finding("share", "%s (%q) sends no reads to %s although all servers are up; its last read: %v", a.name, a.uri,
			a.round.unused(a.name), err)
	}
}

const slowReads = 12 // that wait at the servers

// oldGeneration asks whether a connection that is older than the last clearing of its pool can clear it again, of a client that tells of
// its pools: it lets reads wait at the servers, breaks one of their connections, waits until that has cleared the pool and the pool is
// ready again, and then breaks the others.
func (o *round) oldGeneration() {
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
	for range slowReads {
		reading.Go(func() { _ = a.read(ctx, slow) })
	}
	defer reading.Wait()
	defer close(o.release)
	if !soon(func() bool { return len(o.held) == slowReads }) {
		return
	}
	first := <-o.held
	host := first.Host
	cleared, ready := a.times(host, event.ConnectionPoolCleared), a.times(host, event.ConnectionPoolReady)
	first.Reset()
	if !soon(func() bool {
		return a.times(host, event.ConnectionPoolCleared) > cleared && a.times(host, event.ConnectionPoolReady) > ready
	}) {
		return
	}
	cleared = a.times(host, event.ConnectionPoolCleared)
	for range slowReads - 1 {
		if other := <-o.held; other.Host == host {
			other.Reset()
		}
	}
	time.Sleep(100 * time.Millisecond)
	if n := a.times(host, event.ConnectionPoolCleared) - cleared; n > 0 {
		o.finding("pool", "errors of connections that are older than the clearing of the pool of %s cleared it %d times more", host,
			n)
	}
}
