package mongo

import (
	"context"
	"errors"
)

// IsTimeout reports whether a timeout caused the error or an error that it wraps. That is a deadline on the client's side, a timeout of a
// socket, or the server's error 50, MaxTimeMSExpired: as the error of a command, in its writeErrors, or as its writeConcernError
// (client-side-operations-timeout.md, "Error Transformations"). It is false if the context was cancelled, whatever the operation waited
// for.
//
//fork:wrap a cancellation in the wait for a connection looked like a timeout; error 50 counts in writeErrors and writeConcernError, too
func IsTimeout(err error) bool {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) { // each has a cause of its own
		for _, one := range joined.Unwrap() {
			if IsTimeout(one) {
				return true
			}
		}
	}
	return (upstreamIsTimeout(err) || anyError(err, exceedsMaxTime)) && !errors.Is(err, context.Canceled)
}
