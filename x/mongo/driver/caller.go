package driver

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

// contextErr returns why nobody waits for another attempt, or nil if somebody does.
func contextErr(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return backpressure.Caller(ctx).Err()
}

// remaining returns the time left for a backoff: until the command's deadline or its caller's, whichever comes first.
func (p *OverloadPolicy) remaining(ctx context.Context) time.Duration {
	remaining := retry.NoDeadline
	for _, waiting := range []context.Context{ctx, backpressure.Caller(ctx)} {
		if deadline, ok := waiting.Deadline(); ok && p.until(deadline) < remaining {
			remaining = p.until(deadline)
		}
	}
	return remaining
}
