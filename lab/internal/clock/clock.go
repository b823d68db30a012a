// Package clock tells and passes time, so that code that depends on time can be tested without waiting.
package clock

import (
	"context"
	"time"
)

// Clock tells and passes time. Implementations are safe for concurrent use.
type Clock interface {
	// Now never goes back.
	Now() time.Time
	// Wait returns nil after that time, at once if it is not positive; or the context's error as soon as it ends.
	Wait(ctx context.Context, d time.Duration) error
}

// System is the clock of the machine.
type System struct{}

// Now returns the time.
func (System) Now() time.Time { return time.Now() }

// Wait implements Clock.
func (System) Wait(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
