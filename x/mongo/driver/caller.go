package driver

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

// Some commands are not cut off when the context of the call ends that they are sent for: the commit, the abort and the
// killCursors that the driver sends for its own ends (client-side-operations-timeout.md, "Cursors" and "Convenient
// Transactions API": their time is refreshed). That must not keep the caller waiting: who they are sent for is known by the
// two contexts below, and the backoffs before their retries end with the caller's context, or there are no retries at all.

type (
	callerKey  struct{}
	cleanUpKey struct{}
)

// WithCaller returns a context for commands that go on when the caller's context has ended. Only backoffs before retries
// after overload errors do not: none is begun that would pass the caller's deadline, and one is over when the caller's
// context ends. If ctx has a caller already, that one stays.
func WithCaller(ctx, caller context.Context) context.Context {
	if ctx.Value(callerKey{}) != nil {
		return ctx
	}
	return context.WithValue(ctx, callerKey{}, caller)
}

// WithCleanUp returns a context in which nobody looks at the result of a killCursors command. It is not retried after
// overload errors.
func WithCleanUp(ctx context.Context) context.Context {
	return context.WithValue(ctx, cleanUpKey{}, true)
}

// callerOf returns the context of the caller that the command is sent for, which is the command's own if no other is known.
func callerOf(ctx context.Context) context.Context {
	if caller, ok := ctx.Value(callerKey{}).(context.Context); ok {
		return caller
	}
	return ctx
}

// contextErr returns why nobody waits for another attempt any more, or nil if somebody does.
func contextErr(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return callerOf(ctx).Err()
}

// remaining returns how long a backoff may take: until the command's deadline or that of its caller, whichever comes first.
func (p *OverloadPolicy) remaining(ctx context.Context) time.Duration {
	remaining := retry.NoDeadline
	for _, waiting := range []context.Context{ctx, callerOf(ctx)} {
		if deadline, ok := waiting.Deadline(); ok && p.until(deadline) < remaining {
			remaining = p.until(deadline)
		}
	}
	return remaining
}
