package mongo

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
)

// IsTimeout reports whether a timeout caused the error or an error that it wraps. That is a deadline on the client's side, a timeout of a
// socket, or the server's error 50, MaxTimeMSExpired: as the error of a command, in its writeErrors, or as its writeConcernError
// (client-side-operations-timeout.md, "Error Transformations"). It is false if the context was cancelled, whatever the operation waited
// for.
//
//fork:wrap a cancellation in the wait for a connection looked like a timeout; error 50 counts in writeErrors and writeConcernError, too
func IsTimeout(err error) bool {
	late := false // what the server says
	for one := err; one != nil; one = errors.Unwrap(one) {
		if interrupted, ok := one.(backpressure.Interruption); ok && interrupted.Is(context.Canceled) {
			return false // whatever timed out before
		}
		if joined, ok := one.(interface{ Unwrap() []error }); ok {
			for _, part := range joined.Unwrap() { // alone: that one was cancelled does not hide that another timed out
				if IsTimeout(part) {
					return true
				}
			}
		}
		late = late || exceedsMaxTime(one)
	}
	return (late || upstreamIsTimeout(err)) && !errors.Is(err, context.Canceled)
}
