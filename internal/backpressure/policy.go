// Package backpressure holds what the driver's packages share to carry out the decisions of package retry: the policy of a client,
// with the clock that backoffs are measured by; the labels of overload errors; and the purpose of commands: for whom they are sent.
package backpressure

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

// Policy is the overload retry policy of one client, with the means to carry it out. It is made with the client, is safe for
// concurrent use, and must not be changed. A nil policy retries nothing after overload errors.
type Policy struct {
	// Policy decides which commands are retried and after what backoff.
	retry.Policy

	// Retarget makes a retry after an overload error avoid the overloaded servers, if another is suitable.
	Retarget bool

	// Clock measures and waits for backoffs.
	Clock Clock
}

// Start begins the execution of a command, see retry.Policy.Start.
func (p *Policy) Start(kind retry.Kind, limit retry.Limit) retry.Execution {
	if p == nil {
		return (*retry.Policy)(nil).Start(kind, limit) // p.Policy.Start would panic
	}
	return p.Policy.Start(kind, limit)
}

// Left returns the time left for a backoff, after others that took the given time: until the end of whoever waits for the command, but at
// least the rest of the grace, and never beyond the command's own deadline.
func (p *Policy) Left(ctx context.Context, purpose Purpose, spent time.Duration) time.Duration {
	if p == nil {
		return retry.NoDeadline // without a policy there are no backoffs
	}
	left := retry.NoDeadline
	if purpose.Caller != nil {
		left = p.untilEnd(purpose.Caller)
	}
	if !purpose.Until.IsZero() {
		left = shorter(left, purpose.Until.Sub(p.Clock.Now()))
	}
	if grace := purpose.Grace - spent; left < grace {
		left = grace
	}
	return shorter(left, p.untilEnd(ctx))
}

// untilEnd returns the time until the end of the context, as far as it is known.
func (p *Policy) untilEnd(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	switch {
	case ctx.Err() != nil: // a cancellation may come before the deadline
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

// Sleep waits for a backoff, after others that took the given time. It ends with the command's context; with that of the caller, unless
// all of it is within the grace; and with ErrDisconnected at the end of the client.
func (p *Policy) Sleep(ctx context.Context, purpose Purpose, d, spent time.Duration) error {
	if spent+d <= purpose.Grace {
		purpose.Caller = nil // in this copy
	}
	return p.Clock.Sleep(ctx, purpose.Caller, p.ends(false), d)
}

// Pause waits between two operations of a call, such as two runs of WithTransaction. Unlike Sleep, it ends as soon as the client begins
// to disconnect, because the second could not begin.
func (p *Policy) Pause(ctx context.Context, d time.Duration) error {
	closed := p.ends(true)
	select {
	case <-closed: // even if there is nothing to wait for, and whatever else has ended
		return ErrDisconnected
	default:
		return p.Clock.Sleep(ctx, nil, closed, d)
	}
}

// ends returns what is closed at the end of the client or, with begins, once it is being disconnected: see closing.go.
func (p *Policy) ends(begins bool) <-chan struct{} {
	if closing, ok := any(p).(interface{ closes(bool) <-chan struct{} }); ok {
		return closing.closes(begins)
	}
	return nil // without that nothing is closed
}
