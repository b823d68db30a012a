// Package overload makes a front shed load like a server: by a limit on the rate of requests, a limit on the rate of connections,
// and a model of the server's capacity.
package overload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"golang.org/x/time/rate"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/servererror"
)

// Limit is a rate limit. Its zero value is not valid; begin with Unlimited. It is read from the parameters of the limit on requests, which
// have the server's names, so that scripts for a server work on the lab.
type Limit struct {
	Enabled    bool  `bson:"ingressRequestRateLimiterEnabled"`
	RatePerSec int32 `bson:"ingressRequestAdmissionRatePerSec"` // the number admitted per second, at least 1
	// BurstCapacitySecs says for how many seconds unused admissions are saved up; it is more than 0. There is always room for one
	// admission.
	BurstCapacitySecs float64 `bson:"ingressRequestAdmissionBurstCapacitySecs"`
}

// Unlimited is a server's initial limit: off, and without any bound once it is on.
func Unlimited() Limit { return Limit{RatePerSec: math.MaxInt32, BurstCapacitySecs: math.MaxFloat64} }

// burst is the number of tokens that the bucket holds.
func (l Limit) burst() int {
	return int(min(max(1, float64(l.RatePerSec)*l.BurstCapacitySecs), math.MaxInt32))
}

// errRejected means that there is no token, or no room in the queue for the worker. A connection is then closed.
var errRejected = fmt.Errorf("the rate is exceeded: %w", proxy.ErrClose)

// Limiter is a token bucket.
type Limiter struct {
	limit  atomic.Pointer[Limit]
	bucket *rate.Limiter
}

func newLimiter() *Limiter {
	limit := Unlimited()
	l := &Limiter{bucket: rate.NewLimiter(rate.Limit(limit.RatePerSec), limit.burst())}
	l.limit.Store(&limit)
	return l
}

// SetLimit changes the limit. As in the server, the bucket keeps as many of its tokens as there is room for.
func (l *Limiter) SetLimit(limit Limit) {
	l.limit.Store(&limit)
	l.bucket.SetLimit(rate.Limit(limit.RatePerSec))
	l.bucket.SetBurst(limit.burst())
}

// Limit returns the limit.
func (l *Limiter) Limit() Limit { return *l.limit.Load() }

// admit returns nil or errRejected.
func (l *Limiter) admit() error {
	if l.Limit().Enabled && !l.bucket.Allow() {
		return errRejected
	}
	return nil
}

// Front has a server's limiters. It rejects requests beyond a rate before it does anything else with them, and closes connections beyond
// another rate before it reads from them. If it has a capacity, admitted requests take time.
type Front struct {
	Requests, Connections *Limiter

	worker worker
}

// NewFront returns a front without limits.
func NewFront() *Front { return &Front{Requests: newLimiter(), Connections: newLimiter()} }

// SetCapacity replaces the capacity; nil stands for an unlimited one, as at first.
func (f *Front) SetCapacity(capacity *Capacity) {
	f.worker.mu.Lock()
	defer f.worker.mu.Unlock()
	f.worker.capacity = capacity
}

// Accept is for proxy.Config.
func (f *Front) Accept(context.Context) error { return f.Connections.admit() }

// Handle is a proxy.Handler.
func (f *Front) Handle(ctx context.Context, req *proxy.Request, next proxy.Next) (bson.Raw, error) {
	if !slices.Contains(exemptions, req.Command) {
		err := f.Requests.admit()
		if err == nil {
			err = f.worker.admit(ctx)
		}
		if errors.Is(err, errRejected) {
			return servererror.RequestRate.Reply(), nil
		} else if err != nil {
			return nil, err
		}
	}
	ours := func(parameter string) bool { return bsondoc.Has(req.Document(), parameter) }
	if req.Database == "admin" && req.Command == "setParameter" && slices.ContainsFunc(parameters, ours) {
		return f.setParameter(req.Document()), nil
	}
	return next(ctx, req)
}

// exemptions are commands that no limiter rejects. The server limits clients once they have authenticated; this list approximates that by
// command. All other commands count, including commitTransaction, abortTransaction, killCursors, endSessions and ping. A server without
// authentication limits the exempt ones as well. The lab does not, because it cannot see who has authenticated.
var exemptions = []string{
	"hello", "isMaster", "ismaster", // come before authentication, and monitoring must go on in an overload
	"saslStart", "saslContinue", "authenticate",
	"configureFailPoint", "setParameter", "getParameter", // control the test, and have to be able to end it
}

// parameters are those of the front; all others are the backend's.
var parameters = []string{"ingressRequestRateLimiterEnabled", "ingressRequestAdmissionRatePerSec",
	"ingressRequestAdmissionBurstCapacitySecs"}

// setParameter sets the front's parameters, and returns the reply.
func (f *Front) setParameter(command bson.Raw) bson.Raw {
	limit := f.Requests.Limit() // what a command lacks stays as it is
	err := bson.Unmarshal(command, &limit)
	if err == nil && (limit.RatePerSec < 1 || !(limit.BurstCapacitySecs > 0)) { // NaN is no burst, either
		err = errors.New("give a rate of at least 1 per second, and a burst capacity of more than 0 seconds")
	}
	if err != nil {
		return servererror.Errorf(servererror.CodeBadValue, "%v", err).Reply()
	}
	f.Requests.SetLimit(limit)
	return servererror.OK()
}

// Capacity is what a server can do.
type Capacity struct {
	PerSecond     float64 // requests, if none is rejected; more than 0
	Queue         int     // requests that may wait for the one that is served; more are rejected
	RejectionCost float64 // share of a request's work that its rejection takes, from 0 to 1
}

// worker serves requests like a server with one worker and a queue before it. Without a capacity, it serves them at once. Rejections are
// work for the same worker, so rejected requests take time from served ones, which is what makes storms harmful.
//
// It records until when it is busy. Requests wait for their end before they are passed on. So it is exact over time, however coarse the
// clock is.
type worker struct {
	mu        sync.Mutex
	capacity  *Capacity
	busyUntil time.Time
	present   int // requests that wait or are served
}

// admit returns nil when a request has been served, errRejected if there is no room for it, or the reason for the context's end. If a
// client leaves earlier, the server does the work all the same, because it has begun or has to find out.
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
