package backpressure

import (
	"context"
	"time"
)

// Purpose says for whom commands are sent and whether their results matter, where that does not follow from the commands' own
// context: because they outlive the context of the call (client-side-operations-timeout.md, "Cursors" and "Convenient Transactions
// API": their time is refreshed), or because the client's Timeout does not apply to them. They must not keep the caller waiting.
type Purpose struct {
	// Caller is the context of who waits for the commands, besides their own. Its end ends their backoffs.
	Caller context.Context

	// Until is when their backoffs end. Zero is never.
	Until time.Time

	// Grace is how long they may back off in any case, though the Caller has gone or the time is up.
	Grace time.Duration

	// Ignored is whether nobody looks at the result of a killCursors command. It is not retried after overload errors.
	Ignored bool

	// Outcome, if set, is told what the error of a command does not say.
	Outcome *Outcome
}

// Outcome is what the error of a failed command does not say.
type Outcome struct {
	// Unsent is whether its last attempt was not sent.
	Unsent bool
	// Interruption is set if there was no time to retry it.
	Interruption *Interruption
}

type purposeKey struct{}

// WithPurpose returns a context for commands that are sent for the purpose.
func WithPurpose(ctx context.Context, p Purpose) context.Context {
	return context.WithValue(ctx, purposeKey{}, p)
}

// PurposeOf returns the purpose of the commands that are sent with the context.
func PurposeOf(ctx context.Context) Purpose {
	p, _ := ctx.Value(purposeKey{}).(Purpose)
	return p
}
