// Package parallel runs the driver as an application with many goroutines does: in real time, on all processors, with servers in memory
// that come and go. It asks what holds whatever happens: each reply belongs to its command, nothing that was handed out or in changes, each
// server that is up is used, and nothing is left at the end.
package parallel

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/goleak"
)

// run is all rounds, with what they did and found.
type run struct {
	seed  uint64
	out   io.Writer
	start time.Time

	operations, cancelled, stopped, rejected, cleared, left, kept, lent atomic.Int64

	mu       sync.Mutex
	first    func()         // unless nil, called after the first finding
	findings map[string]int // by what asks
}

// most is how many findings of a kind are printed.
const most = 3

// finding reports what is wrong, found by a part of the oracle.
func (r *run) finding(by, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.findings[by]++
	n := r.findings[by]
	if n <= most {
		after := time.Since(r.start).Round(100 * time.Millisecond)
		fmt.Fprintf(r.out, "seed %d: %s, after %v: %s\n", r.seed, by, after, fmt.Sprintf(format, args...))
	}
	if r.first != nil {
		r.first()
	}
}

func (r *run) count() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, found := range r.findings {
		n += found
	}
	return n
}

// patience is how long a round may take until an operation in it is taken to wait for ever.
const patience = 10 * time.Minute

// Run runs rounds for some time, and reports how many findings there are. With the first one it calls first, unless that is nil.
func Run(ctx context.Context, seed uint64, duration time.Duration, first func(), out io.Writer) (findings int) {
	runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(0)))
	debug.SetTraceback("all")
	before := goleak.IgnoreCurrent()
	r := &run{seed: seed, out: out, start: time.Now(), first: first, findings: map[string]int{}}
	length := max(500*time.Millisecond, min(4*time.Second, duration/time.Duration(3*len(shapes))))
	rounds := 0
	for ; time.Since(r.start) < duration && ctx.Err() == nil; rounds++ {
		late := time.AfterFunc(patience, func() { panic("a call does not end") })
		r.round(ctx, rounds, length)
		late.Stop()
	}
	if r.count() == 0 && !soon(func() bool { return goleak.Find(before) == nil }) {
		r.finding("left", "at the end: %v", goleak.Find(before))
	}
	fmt.Fprintf(out, "seed %d: %v, %d rounds, %d operations, %d with a context that ends, %d servers stopped, %d commands rejected, "+
		"%d pools cleared, %d clients disconnected in the midst, %d things kept and %d lent: %d findings\n", seed,
		time.Since(r.start).Round(time.Second), rounds, r.operations.Load(), r.cancelled.Load(), r.stopped.Load(),
		r.rejected.Load(), r.cleared.Load(), r.left.Load(), r.kept.Load(), r.lent.Load(), r.count())
	return r.count()
}

// soon waits until something is so, and reports whether it is within ten seconds.
func soon(so func() bool) bool {
	for end := time.Now().Add(10 * time.Second); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
