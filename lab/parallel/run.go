// Package parallel runs the driver as an application with many goroutines does: in real time, on all processors, with servers in memory
// that come and go. It asks what holds whatever happens: each reply belongs to its command, nothing that was handed out or in changes, each
// server that is up is used, and nothing is left at the end.
package parallel

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// run is all rounds, with what they did and found.
type run struct {
	seed uint64
	out  io.Writer

	operations, cancelled, stopped, rejected, cleared, left, kept, lent atomic.Int64

	mu       sync.Mutex
	start    time.Time
	findings map[string]int // by what asks
	found    chan struct{}  // closed at the first one
}

// most is how many findings of a kind are printed.
const most = 3

// finding reports what is wrong, found by a part of the oracle.
func (r *run) finding(by, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.findings[by]++; len(r.findings) == 1 && r.findings[by] == 1 {
		close(r.found)
	}
	if r.findings[by] <= most {
		fmt.Fprintf(r.out, "seed %d: %s, after %v: %s\n", r.seed, by, time.Since(r.start).Round(100*time.Millisecond),
			fmt.Sprintf(format, args...))
	}
}

// patience is how long a round may take, beyond its own time, until an operation in it is taken to wait for ever.
const patience = 10 * time.Minute

// Run runs rounds for some time, and reports how many findings there are. With first, it ends with the first one.
func Run(ctx context.Context, seed uint64, duration time.Duration, first bool, out io.Writer) (findings int) {
	runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(0)))
	r := &run{seed: seed, out: out, start: time.Now(), findings: map[string]int{}, found: make(chan struct{})}
	before := runtime.NumGoroutine()
	length := max(500*time.Millisecond, min(4*time.Second, duration/time.Duration(3*len(shapes))))
	rounds := 0
	for ; time.Since(r.start) < duration && ctx.Err() == nil; rounds++ {
		over := make(chan struct{})
		go func() {
			defer close(over)
			r.round(ctx, rounds, length, length)
		}()
		if !r.ends(over, first) {
			break
		}
	}
	if r.count() == 0 {
		r.goroutines(before)
	}
	fmt.Fprintf(out, "seed %d: %v, %d rounds, %d operations, %d with a context that ends, %d servers stopped, %d commands rejected, "+
		"%d pools cleared, %d clients disconnected in the midst, %d things kept and %d lent: %d findings\n", seed,
		time.Since(r.start).Round(time.Second), rounds, r.operations.Load(), r.cancelled.Load(), r.stopped.Load(), r.rejected.Load(),
		r.cleared.Load(), r.left.Load(), r.kept.Load(), r.lent.Load(), r.count())
	return r.count()
}

// ends waits for the end of a round, or for the first finding if that is enough. It reports whether the round has ended.
func (r *run) ends(over chan struct{}, first bool) bool {
	enough := r.found
	if !first {
		enough = nil
	}
	select {
	case <-over:
		return true
	case <-enough:
		return false
	case <-time.After(patience):
		r.finding("end", "a call does not end: a round is not over after %v; all goroutines: %s", patience, stacks())
		return false
	}
}

func stacks() []byte {
	all := make([]byte, 1<<20)
	return all[:runtime.Stack(all, true)]
}

func (r *run) count() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, found := range r.findings {
		n += found
	}
	return n
}

// goroutines asks whether those that were started have ended.
func (r *run) goroutines(before int) {
	if wait(func() bool { return runtime.NumGoroutine() <= before }) {
		return
	}
	if left := stacks(); bytes.Contains(left, []byte("mongo-driver")) {
		r.finding("left", "%d goroutines are left at the end: %s", runtime.NumGoroutine()-before, left[:min(len(left), 6000)])
	}
}
