package mongo

import (
	"context"
	"errors"
	"math/rand"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// WithTransaction starts a transaction on this session and runs the fn callback, which must pass the context that it is given to
// every operation of the transaction. This session replaces any session in ctx. If the callback returns no error, the transaction
// is committed; otherwise, or if the context has ended, it is aborted. The end of the context does not cut off the commit and the abort.
// If it has a deadline, a commit has the time that is left, but at least 2 seconds, and an abort as much time as the call had at its start;
// otherwise each has the client's Timeout or, without one, an abort 10 seconds and a commit no limit. An abort after a cancellation has 2
// seconds. Backoffs before their retries end with the context or after 500 milliseconds of backoffs, whichever comes later; within the
// client's Timeout, a cancellation does not end them.
//
// An error with the label TransientTransactionError runs the whole transaction again. The callback may therefore be called
// several times, and must be idempotent but for the transaction's own operations; all other errors end the call. An error of the commit
// with the label UnknownTransactionCommitResult runs the commit again, unless the server is overloaded and the commit's own retries are
// used up. The callback has to return the errors of its operations, possibly wrapped with %w, even those that it has handled: otherwise
// WithTransaction would try in vain to commit a transaction that the server has aborted, and would not know that it has to run again.
// Client.StartSession has an example.
//
// Before the transaction or its commit is run again there is a backoff: a random part of some milliseconds, which grow by
// half with each attempt, up to 500 milliseconds. Retries end at the context's deadline; if it has none, after the client's Timeout; if
// that is not set either, after 120 seconds. IsTimeout is then true for the error, which wraps the last error and has its labels.
//
// Commands in the transaction, its commit and its abort are also retried individually after overload errors, like all commands.
//
//fork:replace runs a transaction again only after a backoff, and reports the end of the time as a timeout
func (s *Session) WithTransaction(
	ctx context.Context,
	fn func(ctx context.Context) (any, error),
	opts ...options.Lister[options.TransactionOptions],
) (any, error) {
	retries := s.newTransactionRetries(ctx)
	for {
		if err := retries.backOff(ctx); err != nil {
			return nil, err
		}
		if err := s.StartTransaction(opts...); err != nil {
			return nil, err
		}
		res, err := s.runTransaction(ctx, fn, retries)
		if !retries.again {
			return res, err
		}
	}
}

// runTransaction runs the callback once and commits.
func (s *Session) runTransaction(
	ctx context.Context, fn func(context.Context) (any, error), retries *transactionRetries,
) (any, error) {
	res, err := fn(NewSessionContext(ctx, s))
	if err != nil {
		if s.clientSession.TransactionRunning() {
			s.abortIn(ctx, retries)
		}
		if !errorHasLabel(err, driver.TransientTransactionError) {
			return res, err
		}
		return nil, retries.transient(err)
	}
	if s.clientSession.CheckAbortTransaction() != nil {
		// The callback has ended the transaction by itself.
		return res, nil
	}
	if ctx.Err() != nil {
		// Abort only a transaction whose commit was never tried: after a failed commit the session can be unpinned, and the abort
		// would race with the commit on another server.
		s.abortIn(ctx, retries)
		return nil, ctx.Err()
	}
	return s.commitTransaction(ctx, res, retries)
}

// endingGrace is how long a commit or an abort may back off though nobody waits for it any longer, other than an abort within a Timeout.
const endingGrace = 500 * time.Millisecond // on average enough for two or three retries

// abortIn aborts the transaction of a call.
func (s *Session) abortIn(ctx context.Context, retries *transactionRetries) {
	ctx, cancel := s.endingContext(ctx, retries, true)
	defer cancel()
	_ = s.AbortTransaction(ctx)
}

// commitIn commits the transaction of a call. Its backoffs end with the time of the call, after a grace: there may be further commits.
func (s *Session) commitIn(ctx context.Context, retries *transactionRetries) error {
	ctx, cancel := s.endingContext(ctx, retries, false)
	defer cancel()
	purpose := backpressure.PurposeOf(ctx)
	purpose.Until, purpose.Grace = retries.deadline, endingGrace
	return s.CommitTransaction(backpressure.WithPurpose(ctx, purpose))
}

// endingContext returns a context for a commit or an abort. It outlives the context of the call, because the transaction's locks
// would stay otherwise. But for a Timeout, backoffs end with the call, after a grace. How long the context lasts, by the first line that
// applies (client-side-operations-timeout.md, "Convenient Transactions API"):
//
//	the call          a commit                                an abort
//	was cancelled     as if it were not                       the time for cleaning up
//	has a deadline    what is left, at least for cleaning up  the time of the call anew, at least for cleaning up
//	has a Timeout     the Timeout anew                        the Timeout anew
//	has neither       no limit                                as long as what closes something
func (s *Session) endingContext(
	ctx context.Context, retries *transactionRetries, aborts bool,
) (context.Context, context.CancelFunc) {
	_, hasDeadline := ctx.Deadline()
	own, limited := backpressure.CleanUpTime, true
	switch timeout := s.client.timeout; {
	case aborts && errors.Is(ctx.Err(), context.Canceled): // own stays CleanUpTime, whatever else applies
	case hasDeadline && aborts:
		own = retries.period
	case hasDeadline:
		own = retries.deadline.Sub(retries.clock.Now())
	case timeout != nil && *timeout > 0: // servers are told this time, so the Purpose says nothing of it
		return context.WithDeadline(newBackgroundContext(ctx), retries.clock.Now().Add(*timeout))
	case aborts:
		own = closeTime
	default:
		limited = false
	}
	if own < backpressure.CleanUpTime {
		own = backpressure.CleanUpTime
	}
	ending := backpressure.WithPurpose(newBackgroundContext(ctx), backpressure.Purpose{
		Caller: ctx, Until: retries.deadline, Grace: endingGrace, OwnTime: limited,
	})
	if !limited {
		return ending, func() {}
	}
	return context.WithDeadline(ending, retries.clock.Now().Add(own))
}

// commitTransaction commits until the outcome is known. It does not insist on a commit that the overload retry policy gave up, and
// waits before it repeats one.
func (s *Session) commitTransaction(ctx context.Context, res any, retries *transactionRetries) (any, error) {
	for failed := 1; ; failed++ {
		err := s.commitIn(ctx, retries)
		if err == nil {
			return res, nil
		}
		var cmdErr CommandError
		switch {
		case !errors.As(err, &cmdErr): // such as that of a session without a transaction
			return res, err
		case cmdErr.HasErrorLabel(driver.UnknownTransactionCommitResult) && !cmdErr.IsMaxTimeMSExpiredError() &&
			!cmdErr.HasErrorLabel(driver.ErrSystemOverloadedError):
			pause := ctx
			if !errors.Is(err, backpressure.ErrNeverSent) { // a commit that was sent is repeated even if the context has ended
				pause = newBackgroundContext(ctx)
			}
			if err := retries.wait(pause, transactionBackoff(failed, retries.jitter()), err); err != nil {
				return res, err
			}
		case cmdErr.HasErrorLabel(driver.TransientTransactionError):
			return nil, retries.transient(err)
		default:
			return res, err
		}
	}
}

// transactionRetries decides when WithTransaction runs its transaction again.
type transactionRetries struct {
	clock    backpressure.Clock
	jitter   func() float64
	pause    func(context.Context, time.Duration) error // Policy.Pause
	deadline time.Time                                  // after which nothing is tried again
	period   time.Duration                              // of the call, from its start to its deadline

	attempt int   // transactions that have failed
	again   bool  // whether to run the last of them again
	last    error // its error
}

// newTransactionRetries begins the time of a call: until the deadline of the context or else for the client's Timeout or else 120 seconds.
func (s *Session) newTransactionRetries(ctx context.Context) *transactionRetries {
	policy := backpressure.PolicyOf(s.deployment)
	if policy == nil { // a deployment of a test, or of an application
		policy = &backpressure.Policy{Clock: backpressure.SystemClock{}}
		policy.Jitter = rand.Float64
	}
	r := &transactionRetries{clock: policy.Clock, jitter: policy.Jitter, pause: policy.Pause}

	timeout := withTransactionTimeout
	if s.client.timeout != nil && *s.client.timeout > 0 {
		timeout = *s.client.timeout
	}
	r.deadline = r.clock.Now().Add(timeout)
	if deadline, ok := ctx.Deadline(); ok {
		r.deadline = deadline
	}
	r.period = r.deadline.Sub(r.clock.Now())
	return r
}

// transient records an error after which the transaction may run again. If no time is left, it returns the error to give up with.
func (r *transactionRetries) transient(err error) error {
	r.attempt++
	r.last = err
	if r.again = !r.expired(0); r.again {
		return nil // WithTransaction looks at again first
	}
	return r.timeout(err)
}

// backOff waits before all transactions but the first.
func (r *transactionRetries) backOff(ctx context.Context) error {
	if r.attempt == 0 {
		return nil
	}
	r.again = false // unless the next transaction fails, too
	return r.wait(ctx, transactionBackoff(r.attempt, r.jitter()), r.last)
}

// wait waits before something is tried again. If there is no time for that, it returns the error to give up with.
func (r *transactionRetries) wait(ctx context.Context, d time.Duration, last error) error {
	if r.expired(d) {
		return r.timeout(last)
	}
	if err := r.pause(ctx, d); err != nil {
		return backpressure.Interruption{Err: last, When: "interrupted before another attempt", Cause: err}
	}
	return nil
}

// expired reports whether time is up after a further wait: also if it ends at the deadline (transactions-convenient-api.md,
// "Pseudo-code").
func (r *transactionRetries) expired(wait time.Duration) bool {
	return !r.clock.Now().Add(wait).Before(r.deadline)
}

// timeout returns the error of a transaction that would be run again if there were time. An error that is already a timeout stays
// unchanged (transactions-convenient-api.md, "Timeout Error propagation").
func (r *transactionRetries) timeout(last error) error {
	if IsTimeout(last) {
		return last
	}
	return backpressure.Interruption{Err: last, When: "no time to try the transaction again", Cause: context.DeadlineExceeded}
}
