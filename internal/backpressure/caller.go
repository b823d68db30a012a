package backpressure

import "context"

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

// Caller returns the context of the caller for whom the command is sent, by default the command's own.
func Caller(ctx context.Context) context.Context {
	if caller, ok := ctx.Value(callerKey{}).(context.Context); ok {
		return caller
	}
	return ctx
}

// WithCleanUp returns a context in which the result of a killCursors command is ignored. It is not retried after overload errors.
func WithCleanUp(ctx context.Context) context.Context {
	return context.WithValue(ctx, cleanUpKey{}, true)
}

// CleansUp reports whether the result of a killCursors command is ignored.
func CleansUp(ctx context.Context) bool { return ctx.Value(cleanUpKey{}) != nil }
