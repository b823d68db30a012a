package backpressure

import "context"

// UntilRejected sends the batches of a call until an overloaded server rejects one in the end: the others get its error. All together have
// the retries of one command.
type UntilRejected struct {
	rejected error
}

// Send sends a batch. Sessions that nobody ends expire, so an overloaded server need not keep the caller waiting for the backoffs of each.
func (u *UntilRejected) Send(ctx context.Context, send func(context.Context) error) error {
	if u.rejected != nil {
		return u.rejected
	}
	err := send(ctx)
	if IsRetryableOverload(err) {
		u.rejected = err
	}
	return err
}
