package main

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
	context.Context // whose values it has
	done            chan struct{}
}

func (o own) Done() <-chan struct{} { return o.done }

func (o own) Err() error {
	select {
	case <-o.done:
		return context.Canceled
	default:
		return nil
	}
}

// newContext returns a context of some form that can be cancelled.
func newContext(chance *rand.Rand) (context.Context, context.CancelFunc) {
	switch chance.IntN(4) {
	case 0:
		ctx := own{context.Background(), make(chan struct{})}
		return ctx, sync.OnceFunc(func() { close(ctx.done) })
	case 1:
		return context.WithTimeout(context.Background(), time.Hour)
	}
	above, cancel := context.WithCancel(context.Background())
	if chance.IntN(2) == 0 {
		return above, cancel
	}
	ctx, because := context.WithCancelCause(above) // which ends for a reason of its own
	context.AfterFunc(above, func() { because(errors.New("the application's own cause")) })
	return ctx, cancel
}

// newSpan returns a context, one in seven of which ends sooner than its call may. Others are cancelled once the call has returned, when
// another one has its connection, or never end.
func newSpan(chance *rand.Rand) span {
	ctx, cancel := newContext(chance)
	soon := time.Duration(chance.Int64N(int64(4 * time.Millisecond)))
	switch what := chance.IntN(35); {
	case what == 0:
		cancel()
		return span{ctx, cancel, false, true}
	case what == 1:
		ctx, stop := context.WithTimeout(ctx, soon)
		return span{ctx, func() { stop(); cancel() }, false, false}
	case what < 5:
		time.AfterFunc(soon, cancel)
		return span{ctx, cancel, false, false}
	case what < 10:
		cancel()
		return span{context.WithoutCancel(ctx), func() {}, true, false}
	}
	return span{ctx, cancel, true, false}
}
