package mongo

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// TestRetryMonitorMayUseTheClient is about a monitor that runs a command on a client which has a single connection.
func TestRetryMonitorMayUseTheClient(t *testing.T) {
	overloaded, conflict := scripted.Overloaded(), scripted.OK(writeErrorsAt(0))
	writeConcern := scripted.OK(bson.E{Key: "writeConcernError", Value: bson.D{
		{Key: "code", Value: 462}, {Key: "errorLabels", Value: overloaded[3].Value},
	}})
	insert := func(c *Collection) error {
		return second(c.InsertMany(bgCtx, []any{bson.D{}, bson.D{}}, options.InsertMany().SetOrdered(false)))
	}

	tests := []struct {
		name    string
		run     func(*Collection) error
		replies []any
		opts    *options.ClientOptions
		decided int
	}{
		{name: "a retry that succeeds", run: insert, replies: []any{overloaded}, opts: options.Client(), decided: 1},
		{name: "a retry that meets write errors", run: insert, replies: []any{overloaded, conflict}, opts: options.Client(), decided: 1},
		{name: "a retry that fails", run: insert, replies: []any{overloaded, scripted.Failure(1)}, opts: options.Client(), decided: 2},
		{name: "a retry that is refused", run: insert, replies: []any{overloaded}, opts: options.Client().SetRetryWrites(false),
			decided: 1},
		{name: "a retry that is refused, of write concern errors", run: insert, replies: []any{writeConcern},
			opts: options.Client().SetRetryWrites(false), decided: 1},
		{name: "a cursor", run: func(c *Collection) error { return c.FindOne(bgCtx, bson.D{}).Err() },
			replies: []any{overloaded, scripted.OK(firstBatch(0, bson.D{}))}, opts: options.Client(), decided: 1},
	}
	for _, tt := range tests {
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
			client = must(Connect(tt.opts.ApplyURI(l.URI()).SetMaxPoolSize(1).SetRetryMonitor(monitor)))(t)
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
			_ = tt.run(client.Database("db").Collection("coll"))
			assert.Equal(t, int64(tt.decided), decided.Load())
			assert.Equal(t, int64(0), failed.Load(), "commands of the monitor got no connection")
		})
	}
}

// TestClientMonitorIsOutsideOfSessions is about the monitor of the options, which stays as it is in them.
func TestClientMonitorIsOutsideOfSessions(t *testing.T) {
	var sessions []*Session
	monitor := &event.RetryMonitor{
		Decided: func(ctx context.Context, _ *event.RetryDecidedEvent) {
			sessions = append(sessions, SessionFromContext(ctx))
		},
		Finished: func(ctx context.Context, _ *event.RetryFinishedEvent) {
			sessions = append(sessions, SessionFromContext(ctx))
		},
	}
	for name, opts := range map[string][]*options.ClientOptions{
		"one":     {options.Client().SetRetryMonitor(monitor)},
		"several": {options.Client().SetRetryMonitor(&event.RetryMonitor{}), options.Client().SetRetryMonitor(monitor), options.Client()},
	} {
		t.Run(name, func(t *testing.T) {
			sessions = nil
			client := must(newClient(opts...))(t)
			ctx := NewSessionContext(bgCtx, &Session{})
			called := backpressure.PolicyOf(client.deployment).Monitor
			called.Decided(ctx, nil)
			called.Finished(ctx, nil)
			assert.Equal(t, []*Session{nil, nil}, sessions)
		})
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
			assert.Equal(t, commandNames(t, s)[:1], names)
		})
	}
}
