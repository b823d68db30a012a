package mongo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// TestRetryErrorLeavesWriteExceptions is about errors that cannot hold a RetryError: their types are structs of exported
// fields that applications and their tests compare.
func TestRetryErrorLeavesWriteExceptions(t *testing.T) {
	duplicate := scripted.OK(writeErrorsAt(0))
	insert := func(t *testing.T, replies ...any) error {
		s := scripted.New(t, replies...)
		_, err := scriptColl(t, s).InsertOne(bgCtx, bson.D{})
		s.Finish()
		return err
	}

	atOnce, retried := insert(t, duplicate), insert(t, scripted.Overloaded(), duplicate)
	exception, ok := retried.(WriteException)
	require.True(t, ok, "got %T, want a WriteException", retried)
	assert.Equal(t, atOnce, error(exception))
	assert.True(t, IsDuplicateKeyError(retried))
	assert.False(t, errors.As(retried, new(*RetryError)))
}

// TestRetryErrorOfTransactions is about a command that would not have been retried anyway: that retryWrites is off is not why.
func TestRetryErrorOfTransactions(t *testing.T) {
	s := scripted.New(t, scripted.ShuttingDown(), scripted.OK() /* abort */)
	s.Policy.RetryWrites = false
	inTransaction(t, s, func(ctx context.Context, _ *Session, coll *Collection) {
		err := insertAny(ctx, coll)
		require.Error(t, err)
		assert.False(t, errors.As(err, new(*RetryError)), "got %v", err)
	}, options.Client().SetRetryWrites(false))
}

func TestRetryErrorKeepsTimeouts(t *testing.T) {
	s := scripted.New(t, scripted.Overloaded(), context.DeadlineExceeded)
	err := scriptColl(t, s).FindOne(bgCtx, bson.D{}).Err()
	assert.True(t, IsTimeout(err), "got %v", err)
	assert.True(t, errors.Is(err, context.DeadlineExceeded))
	retries := scripted.As[*RetryError](t, err)
	assert.Equal(t, event.RetryReasonContextDone, retries.Reason)
}

// TestEveryOperationTellsItsAttempts: the error of each tells how many attempts and retries there were.
func TestEveryOperationTellsItsAttempts(t *testing.T) {
	inEndlessOverload(t, func(*scripted.Script) {}, func(t *testing.T, _ *scripted.Script, m sendingMethod, _ overloadEnding, err error) {
		if m.silent {
			return
		}
		retries := scripted.As[*RetryError](t, err)
		assert.Greater(t, retries.Attempts, retries.Retries)
	})
}

// retries checks what errors.As finds of the attempts: those of the first command that failed after retries, or might have been retried.
func (o oracle) retries(acknowledged) string {
	var got *RetryError
	found := errors.As(o.err, &got)
	attempts, commands := map[string]int{}, map[string]int{}
	for _, c := range o.commands {
		attempts[o.operation(c)] += c.attempts
		commands[o.operation(c)]++
	}
	for _, c := range o.commands {
		want, retried := 0, false
		switch {
		case c.results == "rejected":
			want, retried = c.reads, true
		case c.results == "closed" && c.reads > 1:
			want, retried = c.reads, true
		case c.last != "executed":
			want = attempts[o.operation(c)]
			retried = want > commands[o.operation(c)] || c.last == "rejected" || o.way == "retryWrites=false" && c.last != "failed"
		}
		if !retried {
			continue
		}
		if !found {
			return "there is no RetryError"
		}
		text := o.err.Error()
		if c.rejected() && c.attempts > 1 && (!strings.Contains(text, got.Error()) || strings.Contains(text, "no causes")) {
			return "the text does not tell why there was no retry"
		}
		// An attempt for which the context left no time was not sent.
		unsent := strings.HasPrefix(o.way, "with a deadline") && got.Attempts == want+1
		if got.Attempts != want && !unsent {
			return fmt.Sprintf("the RetryError tells of %d attempts, want %d", got.Attempts, want)
		}
		return o.backoff(c, got)
	}
	return ""
}

// backoff checks the backoff that a RetryError tells: of a call of one operation that has read no results by getMore, that is all of it.
func (o oracle) backoff(c *modelCommand, got *RetryError) string {
	var all time.Duration
	for _, d := range o.script.Slept {
		all += d
	}
	simple := o.operation(c) == "the only one" && o.way != "with a deadline that ends a backoff"
	for _, c := range o.commands {
		simple = simple && c.reads == 0
	}
	if simple && got.Backoff != all || got.Backoff > all {
		return fmt.Sprintf("the RetryError tells of a backoff of %v, want %v", got.Backoff, all)
	}
	if c.rejected() && c.attempts > 1 && got.Backoff == 0 {
		return "the RetryError tells of no backoff"
	}
	return ""
}

// TestErrorsTellOnce is about messages: what failed, why there was no retry, and how often it was tried, each once.
func TestErrorsTellOnce(t *testing.T) {
	network := errors.New("connection(a) incomplete read")
	for _, tt := range []struct {
		name    string
		replies []any
		end     error // of the context, during the last backoff
		want    string
	}{
		{"at once", []any{scripted.Failure(11, driver.ErrSystemOverloadedError)}, nil, "scripted"},
		{"rejected, then something else", []any{scripted.Overloaded(), scripted.Failure(11)}, nil,
			"scripted (no further retry after 2 attempts and 50ms of backoff: notRetryable)"},
		{"no time after a rejection", []any{scripted.Overloaded()}, context.DeadlineExceeded,
			"scripted: interrupted during the backoff before a retry: context deadline exceeded" +
				" (no further retry after 1 attempts and 50ms of backoff: contextDone)"},
		{"a broken connection, and no time after a rejection", []any{network, scripted.Rejected()}, context.Canceled,
			"connection(a) incomplete read: interrupted during the backoff before a retry: context canceled" +
				" (no further retry after 2 attempts and 100ms of backoff: contextDone)"},
	} {
		ctx := scripted.NewContext()
		s := scripted.New(t, tt.replies...)
		s.OnSleep = func() {
			if len(s.Sent) == len(tt.replies) {
				ctx.End(tt.end)
			}
		}
		_, err := scriptColl(t, s).InsertOne(ctx, bson.D{})
		require.Error(t, err, tt.name)
		assert.Equal(t, tt.want, strings.TrimSpace(err.Error()), tt.name)
	}
}

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
		none := scripted.NoConnection{Err: scripted.OverloadedHandshake()}
		s := lasting(t, scripted.Failure(1), append([]any{none}, method.replies...)...)
		var names []string
		s.Policy.Monitor = &event.RetryMonitor{Decided: func(_ context.Context, e *event.RetryDecidedEvent) {
			if errors.As(e.Failure, new(scripted.BrokenHandshake)) {
				names = append(names, e.CommandName)
			}
		}}
		_ = method.run(bgCtx, scriptColl(t, s))
		assert.Equal(t, commandNames(s)[:1], names, "%s/%d", method.name, i)
	}
}
