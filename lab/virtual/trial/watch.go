package trial

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// The token bucket of client-backpressure.md, "Adaptive retry".
const (
	tokensAtMost     = 1000 // and at first
	depositOfSuccess = 0.1
)

// watch makes a client report to the recorder, and log if it has tokens.
func (r *recorder) watch(opts *options.ClientOptions, tokens bool) *options.ClientOptions {
	opts.SetMonitor(&event.CommandMonitor{
		Started: func(ctx context.Context, e *event.CommandStartedEvent) {
			call := callOf(ctx)
			r.note(func() {
				r.of(call.ID).sent[e.CommandName]++
				r.pending[e.RequestID]++
				if _, known := r.requests[e.RequestID]; known {
					r.result.Unpaired++
				}
				r.requests[e.RequestID] = call.ID
			})
			r.line(call.ID, "started %s%s", e.CommandName, map[bool]string{true: " of a service"}[e.ServiceID != nil])
			r.react(ctx, "started")
		},
		Succeeded: func(ctx context.Context, e *event.CommandSucceededEvent) {
			r.finished(ctx, e.CommandFinishedEvent, nil)
			r.line(callOf(ctx).ID, "succeeded %s, %d bytes in %v", e.CommandName, len(e.Reply),
				e.Duration.Truncate(100*time.Microsecond))
			r.react(ctx, "succeeded")
		},
		Failed: func(ctx context.Context, e *event.CommandFailedEvent) {
			r.finished(ctx, e.CommandFinishedEvent, e.Failure)
			r.line(callOf(ctx).ID, "failed %s%s: %s", e.CommandName, map[bool]string{true: " at once"}[e.Duration == 0],
				describe(e.Failure))
			r.react(ctx, "failed")
		},
	})
	opts.SetPoolMonitor(&event.PoolMonitor{Event: r.pool})
	opts.SetServerMonitor(&event.ServerMonitor{
		ServerDescriptionChanged: func(e *event.ServerDescriptionChangedEvent) {
			r.changed("server "+e.Address.String(), e.PreviousDescription.Kind, e.NewDescription.Kind)
			for range r.yields { // it may hold locks, with which no time would pass
				runtime.Gosched()
			}
		},
		TopologyDescriptionChanged: func(e *event.TopologyDescriptionChangedEvent) {
			r.changed("topology", e.PreviousDescription.Kind, e.NewDescription.Kind)
		},
	})
	if tokens {
		opts.SetLoggerOptions(options.Logger().SetSink(r).SetComponentLevel(options.LogComponentCommand, options.LogLevelDebug))
	}
	return opts
}

// changed records that something is of another kind; what else is said of it depends on the order within an instant.
func (r *recorder) changed(what, from, to string) {
	if from != to {
		r.line(0, "%s: %s to %s", what, from, to)
	}
}

// finished counts a command that has ended.
func (r *recorder) finished(ctx context.Context, e event.CommandFinishedEvent, failure error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.of(callOf(ctx).ID)
	r.pending[e.RequestID]--
	c.refused = hasLabel(failure, "SystemOverloadedError")
	if c.refused {
		c.again = c.last
	}
	switch {
	case failure == nil:
		r.tokens = min(tokensAtMost, r.tokens+depositOfSuccess)
	case c.refused:
		c.overloads++
		if c.sent[e.CommandName] > 1 {
			r.tokens-- // a retry that fails for another reason returns its token
		}
	case !strings.Contains(failure.Error(), "ReauthenticationRequired"):
		c.others++
	}
}

// pool counts events of pools, and records what calls get no connection for.
func (r *recorder) pool(e *event.PoolEvent) {
	r.note(func() {
		r.pools[e.Type]++
		if e.Type == event.ConnectionPoolReady && r.now() == 0 {
			r.result.Early++
		}
	})
	switch {
	case e.Type == event.ConnectionCheckOutStarted:
		time.Sleep(r.chance.turn())
	case e.Type == event.ConnectionCheckOutFailed:
		var call int
		r.note(func() { call = r.current[r.chance.current()] })
		r.line(call, "%sno connection: %s %s", asideMark, e.Reason, describe(e.Error))
	case e.Type == event.ConnectionClosed && e.Reason == event.ReasonError:
		r.line(0, "%sconnection closed: %s", asideMark, describe(e.Error))
	}
}

// Info implements options.LogSink. The log repeats what events say, but for the tokens.
func (r *recorder) Info(_ int, _ string, keysAndValues ...any) {
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		if fmt.Sprint(keysAndValues[i]) != "tokens" {
			continue
		}
		if tokens, err := strconv.ParseFloat(fmt.Sprint(keysAndValues[i+1]), 64); err == nil {
			r.note(func() { r.result.Minted = max(r.result.Minted, tokens-r.tokens) })
		}
	}
}

// Error implements options.LogSink.
func (*recorder) Error(error, string, ...any) {}
