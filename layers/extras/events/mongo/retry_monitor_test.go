package mongo

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// TestRetryMonitorMayUseTheClient is about a monitor that runs a command on a client which has a single connection.
func TestRetryMonitorMayUseTheClient(t *testing.T) {
	overloaded, conflict := scripted.Overloaded(), scripted.OK(writeErrorsAt(0))
	insert := calling("Collection.InsertMany", []any{anything, anything}, options.InsertMany().SetOrdered(false))
	for _, tt := range []struct {
		name    string
		run     func(context.Context, *Collection) error
		replies []any
		decided int64
		off     bool // retryWrites
	}{
		{"a retry that succeeds", insert, []any{overloaded}, 1, false},
		{"a retry that meets write errors", insert, []any{overloaded, conflict}, 1, false},
		{"a retry that fails", insert, []any{overloaded, scripted.Failure(1)}, 2, false},
		{"a retry that is refused", insert, []any{overloaded}, 1, true},
		{"a retry that is refused, of write concern errors", insert, []any{executedButOverloaded}, 1, true},
		{"a cursor", calling("Collection.FindOne", anything), []any{overloaded, noFile}, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var client *Client
			var decided, failed atomic.Int64
			var pinging atomic.Bool
			ping := func() {
				pinging.Store(true)
				defer pinging.Store(false)
				ctx, cancel := context.WithTimeout(bgCtx, time.Minute)
				defer cancel()
				if client.Ping(ctx, nil) != nil {
					failed.Add(1)
				}
			}
			monitor := &event.RetryMonitor{
				Decided: func(context.Context, *event.RetryDecidedEvent) {
					if pinging.Load() {
						return // a ping that fails is a decision too
					}
					decided.Add(1)
					ping()
				},
				Finished: func(context.Context, *event.RetryFinishedEvent) { ping() },
			}
			l := scripted.Listen(t, scripted.OK(), nil)
			opts := options.Client().ApplyURI(l.URI()).SetMaxPoolSize(1).SetRetryWrites(!tt.off)
			client = must(Connect(opts.SetRetryMonitor(monitor)))(t)
			defer func() { _ = client.Disconnect(bgCtx) }()
			backpressure.PolicyOf(client.deployment).Jitter = func() float64 { return 0 }

			next := 0
			answer := func(command string) any {
				if command == "ping" || command == "endSessions" || next == len(tt.replies) {
					return nil
				}
				next++
				return tt.replies[next-1]
			}
			l.Answer.Store(&answer)
			_ = tt.run(bgCtx, client.Database("db").Collection("coll"))
			assert.Equal(t, tt.decided, decided.Load())
			assert.Equal(t, int64(0), failed.Load(), "commands of the monitor got no connection")
		})
	}
}

// TestClientMonitorIsOutsideOfSessions is about the monitor of the options, which stays as it is in them.
func TestClientMonitorIsOutsideOfSessions(t *testing.T) {
	var sessions []*Session
	note := func(ctx context.Context) { sessions = append(sessions, SessionFromContext(ctx)) }
	monitor := &event.RetryMonitor{
		Decided:  func(ctx context.Context, _ *event.RetryDecidedEvent) { note(ctx) },
		Finished: func(ctx context.Context, _ *event.RetryFinishedEvent) { note(ctx) },
	}
	for name, opts := range map[string][]*options.ClientOptions{
		"one":     {options.Client().SetRetryMonitor(monitor)},
		"several": {options.Client().SetRetryMonitor(&event.RetryMonitor{}), options.Client().SetRetryMonitor(monitor), options.Client()},
	} {
		sessions = nil
		ctx := NewSessionContext(bgCtx, &Session{})
		called := backpressure.PolicyOf(must(newClient(opts...))(t).deployment).Monitor
		called.Decided(ctx, nil)
		called.Finished(ctx, nil)
		assert.Equal(t, []*Session{nil, nil}, sessions, name)
	}
}

// TestRetryEventsNameTheCommand lets the first command that each method sends get no connection at first. What the event calls it is the
// name of the command that is then sent.
func TestRetryEventsNameTheCommand(t *testing.T) {
	for i, method := range sendingMethods() {
		t.Run(fmt.Sprintf("%s/%d", method.name, i), func(t *testing.T) {
			none := scripted.NoConnection{Err: scripted.OverloadedHandshake()}
			s := lasting(t, scripted.Failure(1), append([]any{none}, method.replies...)...)
			var names []string
			s.Policy.Monitor = &event.RetryMonitor{Decided: func(_ context.Context, e *event.RetryDecidedEvent) {
				if errors.As(e.Failure, new(scripted.BrokenHandshake)) {
					names = append(names, e.CommandName)
				}
			}}
			_ = method.run(bgCtx, scriptColl(t, s))
			assert.Equal(t, commandNames(s)[:1], names)
		})
	}
}
