package topology

import (
	"math"
	"sync"
	"time"
)

// rejectionDecay is the time in which the weight of a rejection falls to 1/e. A single rejection counts for 0.7 times as long, until the
// weight rounds to zero. That is longer than most operations take, so rejecting gives no advantage over executing, and short enough that a
// server has its share again soon after an overload.
const rejectionDecay = 300 * time.Millisecond

// recentRejections counts the recent overload errors of one server, with a weight that decays. It is safe for concurrent use; nil
// counts nothing.
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
	r.weight++
}

// count returns the weight of all rejections, rounded.
func (r *recentRejections) count() int64 {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decay()
	return int64(math.Round(r.weight))
}

// decay lowers the weight to that of now. A clock may go back.
func (r *recentRejections) decay() {
	now := r.now()
	if now.After(r.at) {
		r.weight *= math.Exp(-float64(now.Sub(r.at)) / float64(rejectionDecay))
	}
	r.at = now
}
