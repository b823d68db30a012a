package backpressure

import (
	"context"
	"errors"
	"time"
)

// ErrDisconnected is the error of what begins, or waits for something, when its client is disconnected.
var ErrDisconnected = errors.New("client is disconnected")

// Clock tells the time and waits.
type Clock interface {
	Now() time.Time

	// Sleep waits for the duration. If a context ends before that, it returns that context's error at once, and ErrDisconnected if the
	// channel is closed. The caller may be nil, and so may the channel: then the client cannot be disconnected.
	Sleep(ctx, caller context.Context, closed <-chan struct{}, d time.Duration) error
}

// SystemClock is the Clock of the machine.
type SystemClock struct{}

var _ Clock = SystemClock{}

// Now implements the Clock interface.
func (SystemClock) Now() time.Time { return time.Now() }

// Sleep implements the Clock interface.
func (SystemClock) Sleep(ctx, caller context.Context, closed <-chan struct{}, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()

	if caller == nil {
		caller = ctx
	}
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-caller.Done():
		return caller.Err()
	case <-closed:
		if err := ctx.Err(); err != nil { // select chooses at random among what has ended
			return err
		}
		return ErrDisconnected
	}
}
