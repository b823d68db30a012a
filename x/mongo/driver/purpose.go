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
	if caller := backpressure.PurposeOf(ctx).Caller; caller != nil {
		return caller.Err()
	}
	return nil
}

// criticality returns the class of the commands that are sent with the context.
func criticality(ctx context.Context) retry.Criticality {
	return retry.Criticality(backpressure.CriticalityOf(ctx))
}

// marked returns the name of a class, or nothing if it is that of operations without a mark.
func marked(criticality string) string {
	if criticality == retry.Normal.String() {
		return ""
	}
	return criticality
}

// remaining returns the time left for a backoff, after others that took the given time: until the command's deadline or that of
// who waits for it, whichever comes first, but at least the rest of the grace.
func (p *OverloadPolicy) remaining(ctx context.Context, spent time.Duration) time.Duration {
	if p == nil {
		return retry.NoDeadline // without a policy there are no backoffs
	}
	purpose, remaining := backpressure.PurposeOf(ctx), retry.NoDeadline
	if purpose.Caller != nil {
		remaining = p.untilEnd(purpose.Caller)
	}
	if !purpose.Until.IsZero() {
		remaining = shorter(remaining, purpose.Until.Sub(p.Clock.Now()))
	}
	if grace := purpose.Grace - spent; remaining < grace {
		remaining = grace
	}
	return shorter(remaining, p.untilEnd(ctx))
}

// untilEnd returns the time until the end of the context, as far as it is known.
func (p *OverloadPolicy) untilEnd(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	switch {
	case ctx.Err() != nil:
		return 0
	case ok:
		return deadline.Sub(p.Clock.Now())
	default:
		return retry.NoDeadline
	}
}

func shorter(a, b time.Duration) time.Duration {
	if a < b {
		return a
	}
	return b
}

// sleep waits for a backoff, after others that took the given time. It ends with the command's context and, after the grace, with
// that of the caller.
func (p *OverloadPolicy) sleep(ctx context.Context, d, spent time.Duration) error {
	purpose := backpressure.PurposeOf(ctx)
	if spent+d <= purpose.Grace {
		purpose.Caller = nil
	}
	return p.Clock.Sleep(ctx, purpose.Caller, d)
}
