package backpressure

import (
	"context"
	"time"
)

// Clock tells the time and waits.
type Clock interface {
	Now() time.Time

	// Sleep waits for the duration. If the context ends before that, it returns the context's error at once.
	Sleep(context.Context, time.Duration) error
}

// SystemClock is the Clock of the machine.
type SystemClock struct{}

var _ Clock = SystemClock{}

// Now implements the Clock interface.
func (SystemClock) Now() time.Time { return time.Now() }

// Sleep implements the Clock interface.
func (SystemClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()

	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
