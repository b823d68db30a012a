// Package clock passes time.
package clock

import (
	"context"
	"time"
)

// Wait returns nil after that time, or at once if the time is not positive. If the context ends first, it returns the reason at once.
func Wait(ctx context.Context, d time.Duration) error {
	if err := context.Cause(ctx); err != nil || d <= 0 {
		return err
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
