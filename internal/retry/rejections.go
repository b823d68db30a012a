package retry

import (
	"math"
	"sync/atomic"
	"time"
)

const (
	// rejectionDecay is the time in which the weight of a rejection falls to 1/e. A single rejection counts for 0.7 times as
	// long, until the weight rounds to zero. That is longer than most operations take, so rejecting gives no advantage over
	// executing, and short enough that a server has its share again half a second after an overload.
	rejectionDecay = 300 * time.Millisecond

	// maxRejections bounds the count of one server: even the highest is forgotten after 2.3 s.
	maxRejections = 1024
)

// Rejections counts the recent overload errors of one server, with a weight that decays. Add it to the operations in progress
// when choosing a server by these: rejecting is quicker than executing, so a server that rejects has fewer in progress and would
// attract more.
//
// It is safe for concurrent use. A nil Rejections counts nothing.
type Rejections struct {
	now   func() time.Time
	epoch time.Time

	// one is when the weight is or was one, as the time since the epoch; zero if there is no weight. This single number, which
	// can change atomically, determines the weight at any time.
	one atomic.Int64
}

// NewRejections returns a count of zero. now tells the time; Count calls it only if there are rejections.
func NewRejections(now func() time.Time) *Rejections {
	return &Rejections{now: now, epoch: now()}
}

// Add records a rejection.
func (r *Rejections) Add() {
	if r == nil {
		return
	}
	for {
		one, now := r.one.Load(), r.sinceEpoch()
		weight := math.Min(weightAt(one, now)+1, maxRejections)
		next := now + int64(float64(rejectionDecay)*math.Log(weight))
		if r.one.CompareAndSwap(one, next) {
			return
		}
	}
}

// Count returns the weight of all rejections, rounded.
func (r *Rejections) Count() int64 {
	if r == nil || r.one.Load() == 0 {
		return 0
	}
	return r.count()
}

func (r *Rejections) count() int64 {
	one := r.one.Load()
	count := int64(math.Round(weightAt(one, r.sinceEpoch())))
	if count == 0 {
		// The weight only falls. Without one, no clock is read.
		r.one.CompareAndSwap(one, 0)
	}
	return count
}

// sinceEpoch returns the time since the epoch in nanoseconds. It is never zero, which stands for no weight.
func (r *Rejections) sinceEpoch() int64 { return int64(r.now().Sub(r.epoch)) + 1 }

// weightAt returns the weight at a time. It decays exponentially and was one at another time.
func weightAt(one, now int64) float64 {
	if one == 0 {
		return 0
	}
	return math.Exp(float64(one-now) / float64(rejectionDecay))
}
