// Package parallel runs the driver as an application with many goroutines does: in real time, on all processors, with servers in memory
// that come and go. It asks what holds whatever happens: each reply belongs to its command, nothing that was handed out or in changes, each
// server that is up is used, and nothing is left at the end.
package parallel

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/goleak"

	"mongofork/lab/internal/clock"
	"mongofork/lab/virtual"
	"mongofork/lab/virtual/trial"
	"mongofork/tools/command"
)

// Options are what is drawn by chance, for how long, and whether to end with the first finding.
type Options struct {
	Seed     uint64
	Duration time.Duration
	First    bool
}

// run is all rounds, with what they did and found.
type run struct {
	Options
	out   io.Writer
	start time.Time

	operations, cancelled, stopped, rejected, cleared, left, kept, lent, found atomic.Int64

	results sync.Map // of calls, by what these are

	mu       sync.Mutex
	findings map[string]int // by what asks
}

// most is how many findings of a kind are printed.
const most = 3

// finding reports what is wrong, found by a part of the oracle.
func (r *run) finding(by, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found.Add(1)
	if r.findings[by]++; r.findings[by] <= most {
		after := time.Since(r.start).Round(100 * time.Millisecond)
		fmt.Fprintf(r.out, "seed %d: %s, after %v: %s\n", r.Seed, by, after, fmt.Sprintf(format, args...))
	}
	if r.First {
		os.Exit(command.ExitFailed) //nolint:gocritic // nobody needs the lock any more
	}
}

// patience is how long a round may take until an operation in it is taken to wait for ever.
const patience = 10 * time.Minute

// Run runs rounds for some time, and returns how many findings there are.
func Run(ctx context.Context, c Options, out io.Writer) (findings int64) {
	runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(0)))
	debug.SetTraceback("all")
	before := goleak.IgnoreCurrent()
	r := &run{Options: c, out: out, start: time.Now(), findings: map[string]int{}}
	length := max(500*time.Millisecond, min(4*time.Second, c.Duration/time.Duration(3*len(shapes))))
	rounds := 0
	for ; time.Since(r.start) < c.Duration && ctx.Err() == nil; rounds++ {
		late := time.AfterFunc(patience, func() { panic("a call does not end") })
		r.round(ctx, rounds, length)
		late.Stop()
	}
	if r.found.Load() == 0 && !soon(func() bool { return goleak.Find(before) == nil }) {
		r.finding("left", "at the end: %v", goleak.Find(before))
	}
	fmt.Fprintf(out, "seed %d: %v, %d rounds, %d operations, %d with a context that ends, %d servers stopped, %d commands rejected, "+
		"%d pools cleared, %d clients disconnected in the midst, %d things kept and %d lent: %d findings\n", c.Seed,
		time.Since(r.start).Round(time.Second), rounds, r.operations.Load(), r.cancelled.Load(), r.stopped.Load(),
		r.rejected.Load(), r.cleared.Load(), r.left.Load(), r.kept.Load(), r.lent.Load(), r.found.Load())
	return r.found.Load()
}

// soon waits until something is so, and reports whether it is within ten seconds.
func soon(so func() bool) bool { return within(10*time.Second, so) }

// within waits until something is so, and reports whether it is within that time.
func within(patience time.Duration, so func() bool) bool {
	for end := time.Now().Add(patience); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return so() // the machine may have paused for longer
		}
	}
	return true
}

// shape is a deployment of a round.
type shape struct {
	topology string
	batch    int // how many statements servers accept in one write; 0 for as many as real ones
	headless bool
	clients  int
	// heartbeat is the interval of monitors; 0 stands for the shortest one, at which those of many servers would have the machine for
	// themselves.
	heartbeat time.Duration
}

const balanced = "loadbalanced:2"

var shapes = []shape{
	{topology: "sharded:3", clients: 4},
	{topology: "replicaset:3", batch: 2, clients: 5},
	{topology: "sharded:2", batch: 1, clients: 6},
	{topology: "replicaset:3", headless: true, clients: 4},
	{topology: balanced, clients: 4},
	{topology: "sharded:50", clients: 2, heartbeat: 5 * time.Second},
}

// round is the work of one deployment, whose servers see to it that each command is of one nonce.
type round struct {
	*run
	*virtual.Cluster
	number  int
	kind    shape
	slots   []atomic.Pointer[application]
	stop    atomic.Bool
	chance  *rand.Rand // of the goroutine that disturbs
	storm   atomic.Bool
	stormed atomic.Bool // a storm has begun
	smaller atomic.Bool // a member has left its set

	probes  sync.Map // hosts that got a probe, with the client that sent it
	held    chan virtual.Command
	release chan struct{} // closed once these need not wait any more
}

func (r *run) rand(round, part int) *rand.Rand {
	return rand.New(rand.NewPCG(r.Seed<<16|uint64(round), uint64(part)))
}

// round runs one deployment: calm, in a storm, and after it.
func (r *run) round(ctx context.Context, number int, length time.Duration) {
	kind := shapes[number%len(shapes)]
	cluster, end, err := virtual.Start(virtual.Options{Topology: kind.topology, Batch: kind.batch})
	if err != nil {
		panic(err)
	}
	defer end()
	o := &round{run: r, Cluster: cluster, number: number, kind: kind, slots: make([]atomic.Pointer[application], kind.clients),
		chance: r.rand(number, -1), held: make(chan virtual.Command, slowReads), release: make(chan struct{})}
	trial.PutFile(cluster)
	cluster.Intercept(o.answer)
	for i := range o.slots {
		o.slots[i].Store(o.connect(i + number))
	}
	var working sync.WaitGroup
	for i := range 32 {
		working.Go(func() { o.work(i) })
	}
	_ = clock.Wait(ctx, length)
	o.stormed.Store(true)
	o.storm.Store(true)
	o.disturb(ctx, length)
	o.storm.Store(false)
	o.stop.Store(true)
	working.Wait()
	if kind.topology != balanced { // of which clients do not choose a server
		var asking sync.WaitGroup
		for i := range o.slots {
			asking.Go(func() { o.slots[i].Load().askForShare(ctx) })
		}
		asking.Wait()
		o.oldGeneration()
	}
	for i := range o.slots {
		o.slots[i].Load().disconnect(true)
	}
	if !soon(func() bool { return cluster.Open() == 0 }) {
		o.finding("left", "%d connections are open 10 seconds after all clients were disconnected", cluster.Open())
	}
}

// work is a goroutine of the application.
func (o *round) work(number int) {
	chance := o.rand(o.number, number)
	kept := &shelf{run: o.run}
	defer kept.close()
	for n := int64(1); !o.stop.Load(); n++ {
		o.one(o.slots[number%len(o.slots)].Load(), kept, chance, int64(number+1)<<40|n)
	}
}

// disturb makes servers come and go.
func (o *round) disturb(ctx context.Context, duration time.Duration) {
	end, left := time.Now().Add(duration), false
	if strings.HasPrefix(o.kind.topology, "replicaset") {
		o.smaller.Store(true)
		_ = clock.Wait(ctx, 2*heartbeat)
		o.smaller.Store(false)
	}
	for time.Now().Before(end) && ctx.Err() == nil {
		what := []string{trial.Stop, trial.Stop, trial.Reset, trial.StepDown, trial.Silent, trial.Breaking, ""}[o.chance.IntN(7)]
		length := time.Duration(o.chance.IntN(300)+20) * time.Millisecond
		switch {
		case what == trial.Stop:
			o.stopped.Add(1)
		case what == "" && !left:
			left = true
			o.leave()
		}
		trial.Fault{What: what, Host: 1 + o.chance.IntN(50), For: length}.Inflict(o.Cluster)
		_ = clock.Wait(ctx, length+length/2)
	}
}

// leave disconnects a client in the midst of its operations, and starts another in its place.
func (o *round) leave() {
	slot := o.chance.IntN(len(o.slots))
	old := o.slots[slot].Load()
	old.leaving.Store(true)
	o.slots[slot].Store(o.connect(slot + o.number + len(o.slots)))
	old.disconnect(false)
	o.left.Add(1)
}
