package backpressure

import "context"

// UntilRejected sends the batches of a call until an overloaded server rejects one in the end: the others get its error. All together have
// the retries of one command.
type UntilRejected struct {
	last error // of the last batch that was sent
}

// Send sends a batch. Sessions that nobody ends expire, so an overloaded server need not keep the caller waiting for the backoffs of each.
func (u *UntilRejected) Send(ctx context.Context, send func(context.Context) error) error {
	if !IsRetryableOverload(u.last) {
		u.last = send(ctx)
	}
	return u.last
}
