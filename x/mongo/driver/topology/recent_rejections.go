package topology

import (
	"math"
	"sync"
	"time"
)

const (
	// rejectionDecay is the time in which the weight of a rejection falls to 1/e. A single rejection counts for 0.7 times as long, until
	// the weight rounds to zero. That is longer than most operations take, so rejecting gives no advantage over executing, and short
	// enough that a server has its share again half a second after an overload.
	rejectionDecay = 300 * time.Millisecond

	// maxRejections bounds the count of one server: even the highest is forgotten after 2.3 s.
	maxRejections = 1024
)

// recentRejections counts the recent overload errors of one server, with a weight that decays. It is safe for concurrent use; nil counts
// nothing.
type recentRejections struct {
	now func() time.Time

	mu     sync.Mutex
	weight float64
	at     time.Time // when the weight was this
}

// add records a rejection.
func (r *recentRejections) add() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decay()
	r.weight = math.Min(r.weight+1, maxRejections)
}

// count returns the weight of all rejections, rounded.
func (r *recentRejections) count() int64 {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.weight > 0 { // without one, no clock is read
		r.decay()
	}
	return int64(math.Round(r.weight))
}

// decay lowers the weight to that of now, or to zero where it rounds to that. A clock may go back.
func (r *recentRejections) decay() {
	now := r.now()
	if elapsed := now.Sub(r.at); elapsed > 0 {
		r.weight *= math.Exp(-float64(elapsed) / float64(rejectionDecay))
	}
	if r.at = now; r.weight < 0.5 {
		r.weight = 0
	}
}
