package parallel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	lab "mongofork/lab/internal/topology"
	"mongofork/lab/virtual"
)

// shape is a deployment of a round.
type shape struct {
	topology string
	batch    int // how many statements servers accept in one write; 0 for as many as real ones
	headless bool
	clients  int
	// heartbeat is the interval of monitors; 0 stands for the shortest one.
	heartbeat time.Duration
}

// interval returns the interval of monitors. Those of many servers would have the machine for themselves at the shortest one.
func (s shape) interval() time.Duration { return max(s.heartbeat, heartbeat) }

var shapes = []shape{
	{topology: "sharded:3", clients: 4},
	{topology: "replicaset:3", batch: 6, clients: 5},
	{topology: "sharded:2", batch: 5, clients: 6},
	{topology: "replicaset:3", headless: true, clients: 4},
	{topology: "loadbalanced:2", clients: 4},
	{topology: "sharded:50", clients: 2, heartbeat: 5 * time.Second},
}

// goroutines is how many the application has.
const goroutines = 32

// bench stands in for a test, for what a cluster needs of one.
type bench struct {
	testing.TB
	ends []func()
}

func (b *bench) Helper()            {}
func (b *bench) Cleanup(end func()) { b.ends = append(b.ends, end) }
func (b *bench) Fatal(args ...any)  { panic(fmt.Sprint(args...)) }

func (b *bench) end() {
	for i := range b.ends {
		b.ends[len(b.ends)-1-i]()
	}
}

// round is the work of one deployment.
type round struct {
	*run
	number  int
	kind    shape
	servers *servers
	slots   []atomic.Pointer[application]
	storm   *atomic.Bool
	stop    atomic.Bool
	chance  *rand.Rand // of the goroutine that disturbs
}

func (r *run) rand(round, part int) *rand.Rand {
	return rand.New(rand.NewPCG(r.seed<<16|uint64(round), uint64(part)))
}

// round runs one deployment: calm, in a storm, and after it.
func (r *run) round(ctx context.Context, number int, calm, stormy time.Duration) {
	kind := shapes[number%len(shapes)]
	b := &bench{}
	o := &round{run: r, number: number, kind: kind, chance: r.rand(number, -1), slots: make([]atomic.Pointer[application], kind.clients)}
	o.servers = newServers(r, b, kind, r.rand(number, -2))
	o.storm = &o.servers.storm
	for i := range o.slots {
		o.connect(i, i+number)
	}
	var working sync.WaitGroup
	for i := range goroutines {
		working.Go(func() { o.work(i) })
	}
	pause(ctx, calm)
	o.servers.stormed.Store(true)
	o.storm.Store(true)
	o.disturb(ctx, stormy)
	o.storm.Store(false)
	o.stop.Store(true)
	working.Wait()
	o.share()
	o.oldGeneration()
	for i := range o.slots {
		a := o.slots[i].Load()
		a.disconnect(true)
		a.kept.close()
	}
	o.gone()
	b.end()
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (o *round) connect(slot, number int) {
	a, err := connect(o.run, o.servers, number)
	if err != nil {
		panic(err)
	}
	o.slots[slot].Store(a)
}

// work is a goroutine of the application.
func (o *round) work(number int) {
	chance := o.rand(o.number, number)
	kept := &shelf{run: o.run}
	defer kept.close()
	for n := int32(1); !o.stop.Load(); n++ {
		a := o.slots[number%len(o.slots)].Load()
		o.one(a, kept, chance, int32(number)<<25|n)
	}
}

// one makes a call and judges how it ends.
func (o *round) one(a *application, kept *shelf, chance *rand.Rand, nonce int32) {
	ends := newSpan(context.Background(), chance, 0.15)
	coll := a.Database("db").Collection("c")
	c := &call{loan: &loan{run: o.run, chance: chance, nonce: nonce}, client: a.Client, coll: coll, shelf: kept, servers: o.servers}
	c.ctx = context.WithValue(ends.Context, startedKey{}, c)
	if own, ok := ends.Context.(*own); ok && chance.IntN(2) == 0 {
		own.Context, c.ctx = c.ctx, own // so that the driver gets a context of that type itself
		own.Context = context.WithValue(context.Background(), startedKey{}, c)
	}
	what := pick(chance, !o.kind.headless)
	if chance.IntN(4) == 0 {
		_ = a.choose(c.ctx, kept)
	}
	err := o.caught(what, c)
	calm := !o.servers.stormed.Load() && !isLate(err)
	ends.end()
	c.back()
	o.operations.Add(1)
	if err != nil {
		kept.keep("the error of "+what.name, err, true)
	}
	switch {
	case errors.Is(err, errWrong):
		o.finding("reply", "%s: %v", what.name, err)
	case ends.ended && err == nil:
		o.finding("context", "%s succeeds although its context had ended before the call", what.name)
	case errors.Is(err, errPanic):
	case !ends.free:
		o.cancelled.Add(1)
	case errors.Is(err, context.Canceled) && !a.leaving.Load():
		o.finding("context", "%s ends as cancelled although nobody cancelled its context: %v", what.name, err)
	case err != nil && calm:
		o.finding("failure", "%s fails although its context lasts and nothing is wrong with any server: %v", what.name, err)
	}
}

// isLate reports whether an error may be that of a slow machine.
func isLate(err error) bool {
	return mongo.IsTimeout(err) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &topology.WaitQueueTimeoutError{}) ||
		errors.As(err, &topology.ServerSelectionError{})
}

// caught makes a call. A panic of the driver is a finding.
func (o *round) caught(what kind, c *call) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			o.finding("panic", "%s panics: %v\n%s", what.name, reason, debug.Stack())
			err = errPanic
		}
	}()
	return what.run(c)
}

var errPanic = errors.New("panic")

// disturb makes servers come and go.
func (o *round) disturb(ctx context.Context, for_ time.Duration) {
	c, end := o.servers.cluster, time.Now().Add(for_)
	hosts := len(c.Hosts())
	left := false
	if o.servers.spec.Kind == lab.ReplicaSet {
		o.servers.smaller.Store(true)
		pause(ctx, 2*heartbeat)
		o.servers.smaller.Store(false)
	}
	for time.Now().Before(end) && ctx.Err() == nil {
		host := o.chance.IntN(hosts)
		length := time.Duration(o.chance.IntN(300)+20) * time.Millisecond
		switch o.chance.IntN(7) {
		case 0, 1:
			o.stopped.Add(1)
			c.Stop(host)
			pause(ctx, length)
			c.Restart(host)
		case 2:
			c.Reset(host)
		case 3:
			c.StepDown(length)
		case 4:
			c.SetLink(virtual.Silent, host)
			pause(ctx, length)
			c.SetLink(virtual.Up, host)
		case 5:
			c.SetLink(virtual.Breaking, host)
			pause(ctx, length)
			c.SetLink(virtual.Up, host)
		default:
			if !left {
				left = true
				o.leave()
			}
		}
		pause(ctx, length/2)
	}
}

// leave disconnects a client in the midst of its operations, and starts another in its place.
func (o *round) leave() {
	slot := o.chance.IntN(len(o.slots))
	old := o.slots[slot].Load()
	old.leaving.Store(true)
	o.connect(slot, slot+o.number+len(o.slots))
	old.disconnect(false)
	o.left.Add(1)
	old.kept.close()
}

// gone asks, once all clients are disconnected, what is left of them.
func (o *round) gone() {
	for range 200 {
		if o.servers.cluster.Open() == 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	o.finding("left", "%d connections are open 10 seconds after all clients were disconnected", o.servers.cluster.Open())
}

// routed reports whether clients choose among hosts.
func (o *round) routed() bool { return o.servers.spec.Kind != lab.LoadBalanced }
