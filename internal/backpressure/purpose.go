package backpressure

import (
	"context"
	"time"
)

// Purpose says for whom commands are sent, where that does not follow from the commands' own context: because they outlive the context
// of the call (client-side-operations-timeout.md, "Cursors" and "Convenient Transactions API": their time is refreshed), or because the
// client's Timeout does not apply to them. They must not keep the caller waiting.
type Purpose struct {
	// Caller is the context of whoever waits for the commands, as WithTransaction does, besides their own. Its end ends their backoffs.
	Caller context.Context

	// Until is when their backoffs end, with the time of a WithTransaction. Zero is never.
	Until time.Time

	// Grace is how long they may back off in any case, though the Caller has gone or the time is up: what they end may hold locks.
	Grace time.Duration

	// OwnTime is whether the deadline of the commands' context is the driver's own, as for killCursors. They do not tell it to the
	// servers, and are not retried more often because of it.
	OwnTime bool

	// Again is whether the caller sends the command again by itself, after a wait, as a change stream that is resumed does. A deadline
	// is then no reason for many retries at once.
	Again bool
}

type purposeKey struct{}

// WithPurpose returns a context for commands that are sent for the purpose.
func WithPurpose(ctx context.Context, p Purpose) context.Context {
	return context.WithValue(ctx, purposeKey{}, p)
}

// PurposeOf returns the purpose of the commands that are sent with the context, which keeps it, for callers that change a field of it.
func PurposeOf(ctx context.Context) Purpose {
	p, _ := ctx.Value(purposeKey{}).(Purpose)
	return p
}

// TakePurpose returns the purpose of a command, and its context without the purpose: what is called meanwhile, such as the application's
// monitors and the commands that these send, must not have it.
func TakePurpose(ctx context.Context) (context.Context, Purpose) {
	p, ok := ctx.Value(purposeKey{}).(Purpose)
	if ok {
		ctx = context.WithValue(ctx, purposeKey{}, nil)
	}
	return ctx, p
}

// Err returns why nobody waits for a command with this context any longer, or nil if somebody does.
func (p Purpose) Err(ctx context.Context) error {
	if err := ctx.Err(); err != nil || p.Caller == nil {
		return err
	}
	return p.Caller.Err()
}
