package backpressure

import (
	"context"
	"time"
)

// CleanUpTime is how long a command that cleans up on the servers may take when nobody waits for it any longer: time for a new
// connection to a distant server, and not so much that the end of a call whose time is up is late.
const CleanUpTime = 2 * time.Second

// ForCleanUp returns a context of that time, with the values of another but not its end.
func ForCleanUp(ctx context.Context) (context.Context, context.CancelFunc) {
	return InOwnTime(WithPurpose(valuesOf{context.Background(), ctx}, Purpose{}), CleanUpTime)
}

// InOwnTime returns a context with a deadline that is the driver's own, not one that the application has set: no command tells it to
// a server.
func InOwnTime(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	purpose := PurposeOf(ctx)
	purpose.OwnTime = true
	return context.WithTimeout(WithPurpose(ctx, purpose), d)
}

// valuesOf is a context that has the values of another.
type valuesOf struct {
	context.Context
	other context.Context
}

// Value implements the context.Context interface.
func (v valuesOf) Value(key any) any {
	if v.other == nil { // as methods of package mongo permit
		return nil
	}
	return v.other.Value(key)
}
