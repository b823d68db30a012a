package driver

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

// Some commands outlive the context of the call for which they are sent: the commit, the abort and the killCursors that the
// driver sends on its own behalf (client-side-operations-timeout.md, "Cursors" and "Convenient Transactions API": their time is
// refreshed). They must not keep the caller waiting: the two contexts below tell for whom they are sent, and the backoffs before
// their retries end with the caller's context, or there are no retries at all.

type (
	callerKey  struct{}
	cleanUpKey struct{}
)

// WithCaller returns a context for commands that outlive the caller's context. Their backoffs after overload errors do not: none
// starts that would pass the caller's deadline, and a running one ends with the caller's context. If ctx already has a caller,
// that one stays.
func WithCaller(ctx, caller context.Context) context.Context {
	if ctx.Value(callerKey{}) != nil {
		return ctx
	}
	return context.WithValue(ctx, callerKey{}, caller)
}

// WithCleanUp returns a context in which the result of a killCursors command is ignored. It is not retried after overload errors.
func WithCleanUp(ctx context.Context) context.Context {
	return context.WithValue(ctx, cleanUpKey{}, true)
}

// callerOf returns the context of the caller for whom the command is sent, by default the command's own.
func callerOf(ctx context.Context) context.Context {
	if caller, ok := ctx.Value(callerKey{}).(context.Context); ok {
		return caller
	}
	return ctx
}

// contextErr returns why nobody waits for another attempt, or nil if somebody does.
func contextErr(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return callerOf(ctx).Err()
}

// remaining returns the time left for a backoff: until the command's deadline or its caller's, whichever comes first.
func (p *OverloadPolicy) remaining(ctx context.Context) time.Duration {
	remaining := retry.NoDeadline
	for _, waiting := range []context.Context{ctx, callerOf(ctx)} {
		if deadline, ok := waiting.Deadline(); ok && p.until(deadline) < remaining {
			remaining = p.until(deadline)
		}
	}
	return remaining
}
