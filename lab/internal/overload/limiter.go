package overload

import (
	"fmt"
	"math"
	"sync"

	"golang.org/x/time/rate"

	"mongofork/lab/internal/proxy"
)

// Limit is a rate limit. Its zero value is not valid; begin with Unlimited. It is read from the parameters of the limit on requests, which
// have the server's names, so that scripts for a server work on the lab.
type Limit struct {
	Enabled bool `bson:"ingressRequestRateLimiterEnabled"`
	// RatePerSec is the number admitted per second, at least 1.
	RatePerSec int32 `bson:"ingressRequestAdmissionRatePerSec"`
	// BurstCapacitySecs says for how many seconds unused admissions are saved up; it is more than 0. There is always room for one
	// admission.
	BurstCapacitySecs float64 `bson:"ingressRequestAdmissionBurstCapacitySecs"`
}

// Unlimited is a server's initial limit: off, and without any bound once it is on.
func Unlimited() Limit {
	return Limit{RatePerSec: math.MaxInt32, BurstCapacitySecs: math.MaxFloat64}
}

// burst is the number of tokens that the bucket holds.
func (l Limit) burst() int {
	return int(min(max(1, float64(l.RatePerSec)*l.BurstCapacitySecs), math.MaxInt32))
}

// errRejected means that there is no token, or no room for a request to wait. A connection is then closed.
var errRejected = fmt.Errorf("the rate is exceeded: %w", proxy.ErrClose)

// Limiter is a token bucket.
type Limiter struct {
	mu     sync.Mutex
	limit  Limit
	bucket *rate.Limiter
}

func newLimiter() *Limiter {
	limit := Unlimited()
	return &Limiter{limit: limit, bucket: rate.NewLimiter(rate.Limit(limit.RatePerSec), limit.burst())}
}

// SetLimit changes the limit. As in the server, the bucket keeps as many of its tokens as there is room for.
func (l *Limiter) SetLimit(limit Limit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limit = limit
	l.bucket.SetLimit(rate.Limit(limit.RatePerSec))
	l.bucket.SetBurst(limit.burst())
}

// admit returns nil or errRejected.
func (l *Limiter) admit() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limit.Enabled && !l.bucket.Allow() {
		return errRejected
	}
	return nil
}
