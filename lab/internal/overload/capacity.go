package overload

import (
	"cmp"
	"context"
	"sync"
	"time"

	"mongofork/lab/internal/clock"
)

// Capacity is what a server can do.
type Capacity struct {
	PerSecond     float64 // requests, if none is rejected; more than 0
	Queue         int     // requests that may wait for the one that is served; more are rejected
	RejectionCost float64 // share of a request's work that its rejection takes, from 0 to 1
}

// worker serves requests like a server with one worker and a queue before it; without a capacity, as at first,
// at once. Rejections are work for the same worker, which makes storms harmful: rejected requests take time from served ones.
//
// It is a record of how long it is busy; requests wait for their end before they are passed on, and nothing is computed
// meanwhile. So it is exact over time, however coarse the clock's waiting is.
type worker struct {
	mu        sync.Mutex
	capacity  *Capacity
	busyUntil time.Time
	present   int // requests that wait or are served
}

// admit returns nil when a request has been served; errRejected, if there is no room for it; or the reason for the context's end. The
// work of a client that leaves before is done all the same: the server has begun, or has to find out.
func (w *worker) admit(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.capacity == nil {
		return context.Cause(ctx)
	}
	work, rejection := time.Duration(float64(time.Second)/w.capacity.PerSecond), errRejected
	if w.present <= w.capacity.Queue {
		w.present++
		defer func() { w.present-- }()
		rejection = nil
	} else {
		work = time.Duration(float64(work) * w.capacity.RejectionCost)
	}
	now := time.Now()
	if w.busyUntil.Before(now) {
		w.busyUntil = now
	}
	w.busyUntil = w.busyUntil.Add(work)
	wait := w.busyUntil.Sub(now)
	w.mu.Unlock()
	err := clock.Wait(ctx, wait)
	w.mu.Lock()
	return cmp.Or(err, rejection)
}
