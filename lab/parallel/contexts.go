package parallel

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

// span is the context of a call.
type span struct {
	context.Context
	end   context.CancelFunc // after the call
	free  bool               // nothing ends it during the call
	ended bool               // it had ended before the call
}

// own is a context of an application's own type.
type own struct {
	context.Context // values
	done            chan struct{}
	mu              sync.Mutex
	err             error
}

func (o *own) Done() <-chan struct{}       { return o.done }
func (o *own) Deadline() (time.Time, bool) { return time.Time{}, false }

func (o *own) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

func (o *own) cancel() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = context.Canceled
		close(o.done)
	}
}

var errWhy = errors.New("the application's own cause")

// newSpan returns a context of some kind below a parent. Most let their call finish.
func newSpan(parent context.Context, chance *rand.Rand, sooner float64) span {
	soon := time.Duration(chance.Int64N(int64(4 * time.Millisecond)))
	if chance.Float64() >= sooner {
		switch chance.IntN(5) {
		case 0:
			return span{parent, func() {}, true, false}
		case 1:
			ctx, cancel := context.WithCancel(parent)
			return span{ctx, cancel, true, false} // which is cancelled once the call has returned, when others have its connection
		case 2:
			ctx, cancel := context.WithTimeout(parent, time.Hour)
			return span{ctx, cancel, true, false}
		case 3:
			ctx := &own{Context: parent, done: make(chan struct{})}
			return span{ctx, ctx.cancel, true, false}
		default:
			ended, cancel := context.WithCancel(parent)
			cancel()
			return span{context.WithoutCancel(ended), func() {}, true, false}
		}
	}
	switch chance.IntN(6) {
	case 0:
		ctx, cancel := context.WithCancel(parent)
		time.AfterFunc(soon, cancel)
		return span{ctx, cancel, false, false}
	case 1:
		ctx, cancel := context.WithTimeout(parent, soon)
		return span{ctx, cancel, false, false}
	case 2:
		ctx := &own{Context: parent, done: make(chan struct{})}
		time.AfterFunc(soon, ctx.cancel)
		return span{ctx, ctx.cancel, false, false}
	case 3:
		above, cancelAbove := context.WithCancel(parent)
		ctx, cancel := context.WithCancelCause(above)
		stop := context.AfterFunc(above, func() { cancel(errWhy) })
		time.AfterFunc(soon, cancelAbove)
		return span{ctx, func() { stop(); cancelAbove(); cancel(nil) }, false, false}
	case 4:
		ctx, cancel := context.WithCancel(parent)
		cancel()
		return span{ctx, cancel, false, true}
	default:
		ctx, cancel := context.WithDeadline(parent, time.Now().Add(-time.Second))
		return span{ctx, cancel, false, true}
	}
}
