package mongo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// streamResumes are what a stream has done to get its next event since the last one, or since a getMore that succeeded. The zero value is a
// stream that nothing has interrupted.
type streamResumes struct {
	count int       // resumes
	last  error     // after which the stream is to be resumed
	next  time.Time // when the next one may begin
}

// failed records an error after which the stream is to be resumed. The first resume follows at once, unless the server is overloaded. Each
// further one waits as long as a retry of a command does after so many attempts: the stream would otherwise send aggregates and getMores as
// fast as the servers can end them.
func (r *streamResumes) failed(policy *backpressure.Policy, err error) {
	r.last = err
	if policy != nil && (r.count > 0 || errorHasLabel(err, driver.ErrSystemOverloadedError)) {
		r.next = policy.Clock.Now().Add(retry.Backoff(policy.FirstBackoff, r.count+1, policy.Jitter()))
	}
}

// begin waits until the next resume may begin, and counts it. The end of the context ends the wait, and so does that of the client, after
// which no aggregate may be sent.
func (r *streamResumes) begin(ctx context.Context, policy *backpressure.Policy) error {
	if policy != nil { // without one, next is not set
		if wait := r.next.Sub(policy.Clock.Now()); wait > 0 {
			if err := policy.Pause(ctx, wait); err != nil {
				return r.interrupted(err)
			}
		}
	}
	r.count++
	return nil
}

// interrupted returns the error of a call whose time is up, or whose client is disconnected. If the stream was interrupted before, it wraps
// the last error of the server and says how often the stream was resumed.
func (r *streamResumes) interrupted(err error) error {
	if r.last == nil { // the stream was never interrupted
		return err
	}
	last, cause := r.last, err
	var failed CommandError
	if errors.As(err, &failed) && ofServer(failed.Code, failed.Raw) {
		last, cause = err, context.DeadlineExceeded // it has an error of the server of its own
		if errors.Is(err, context.Canceled) {
			cause = context.Canceled
		}
	}
	when := "interrupted before the change stream was resumed"
	switch {
	case r.count == 1:
		when = "no event came, although the change stream was resumed once"
	case r.count > 1:
		when = fmt.Sprintf("no event came, although the change stream was resumed %d times", r.count)
	}
	return backpressure.Interruption{Err: last, When: when, Cause: cause}
}

// timeIsUp reports whether a command failed because the time of its call is up, or the call was cancelled.
func timeIsUp(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, driver.ErrDeadlineWouldBeExceeded)
}

// updatePbrtFromCommand remembers the resume token of a batch without events. If a getMore returned it, nothing interrupts the stream any
// more.
//
//fork:wrap a getMore that succeeds ends a series of interruptions
func (cs *ChangeStream) updatePbrtFromCommand() {
	if cs.state != streamOpened {
		cs.resumes = streamResumes{}
	}
	cs.state = streamOpen
	cs.upstreamUpdatePbrtFromCommand()
}
