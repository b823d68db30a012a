package mongo

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/csot"
)

// withTimeout returns a context for all commands of a call. Without a deadline, it has the client's Timeout.
func withTimeout(ctx context.Context, timeout *time.Duration) (context.Context, context.CancelFunc) {
	if ctx == nil {
		ctx = context.Background()
	}
	return csot.WithTimeout(ctx, timeout)
}

// closeTime is how long closing something may take if neither the context nor the client says: all retries after overload errors, and
// one round of heartbeats, by which a server that does not answer is known to be gone.
const closeTime = 10 * time.Second

// closingTime returns a context for closing something on the server. Without a deadline, it has the client's Timeout, anew
// (client-side-operations-timeout.md, "Cursors"), or closeTime.
func closingTime(ctx context.Context, timeout *time.Duration) (context.Context, context.CancelFunc) {
	if ctx == nil {
		ctx = context.Background()
	}
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	if timeout != nil && *timeout > 0 {
		return context.WithTimeout(ctx, *timeout)
	}
	return backpressure.InOwnTime(ctx, closeTime)
}
