package mongo

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// WithTransaction starts a transaction on this session and runs the fn callback, which has to use the context that it is
// given for every operation that belongs to the transaction. A session that ctx already has is replaced by this one. When
// the callback returns no error, the transaction is committed; otherwise, and when the context has ended, it is aborted.
// The commit and the abort are not cut short by the context: neither heeds its deadline or cancellation. Only the backoffs
// before their retries do.
//
// An error with the label TransientTransactionError runs the whole transaction again. The callback may therefore be called
// several times, and should have no side effects of its own. An error of the commit with the label
// UnknownTransactionCommitResult runs the commit again. The callback has to return the errors of its operations, wrapped
// with %w if need be: one that it keeps to itself leaves a transaction that the server has aborted, and that would be
// committed in vain.
//
// Before the transaction is run again there is a backoff: a random part of 5 milliseconds, which grow by half with each
// attempt, up to 500 milliseconds. Retries end at the context's deadline; if it has none, after the client's Timeout; if
// that is not set either, after 120 seconds. The error is then one for which IsTimeout is true; it wraps the last error and
// has its labels.
//
// Commands in the transaction, its commit and its abort are also retried on their own after overload errors, as all
// commands are.
//
//fork:replace runs a transaction anew only after a backoff, and reports the end of the time as a timeout
//fork:watch withTransactionTimeout newBackgroundContext Session.CommitTransaction Session.AbortTransaction
func (s *Session) WithTransaction(
	ctx context.Context,
	fn func(ctx context.Context) (any, error),
	opts ...options.Lister[options.TransactionOptions],
) (any, error) {
	retries := s.newTransactionRetries(ctx)
	caller, cancel := context.WithDeadline(ctx, retries.deadline)
	defer cancel()
	retries.ending = driver.WithCaller(newBackgroundContext(ctx), caller)

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
			_ = s.AbortTransaction(retries.ending)
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
		// Only a transaction whose commit was never tried may be aborted: after a failed commit the session can be
		// unpinned, and the abort would race with the commit on another server.
		_ = s.AbortTransaction(retries.ending)
		return nil, ctx.Err()
	}
	return s.commitTransaction(ctx, res, retries)
}

// commitTransaction commits until the outcome is known.
func (s *Session) commitTransaction(ctx context.Context, res any, retries *transactionRetries) (any, error) {
	for {
		err := s.CommitTransaction(retries.ending)
		if err == nil {
			return res, nil
		}
		var cmdErr CommandError
		switch {
		case !errors.As(err, &cmdErr):
			return res, err
		case cmdErr.HasErrorLabel(driver.UnknownTransactionCommitResult) && !cmdErr.IsMaxTimeMSExpiredError():
			if retries.expired(0) {
				return res, retries.timeout(err)
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
	clock    driver.Clock
	jitter   func() float64
	deadline time.Time
	ending   context.Context // of commit and abort

	attempt int   // transactions that have failed
	again   bool  // whether the last of them is to be run again
	last    error // its error
}

func (s *Session) newTransactionRetries(ctx context.Context) *transactionRetries {
	r := &transactionRetries{clock: driver.SystemClock{}, jitter: rand.Float64}
	if retrier, ok := s.deployment.(driver.OverloadRetrier); ok && retrier.OverloadPolicy() != nil {
		policy := retrier.OverloadPolicy()
		r.clock, r.jitter = policy.Clock, policy.Policy.Jitter
	}

	timeout := withTransactionTimeout
	if s.client.timeout != nil && *s.client.timeout > 0 {
		timeout = *s.client.timeout
	}
	r.deadline = r.clock.Now().Add(timeout)
	if deadline, ok := ctx.Deadline(); ok {
		r.deadline = deadline
	}
	return r
}

// transient takes note of an error that lets the transaction be run again. It returns the error to give up with if there
// is no time left.
func (r *transactionRetries) transient(err error) error {
	r.attempt++
	r.last = err
	if r.again = !r.expired(0); r.again {
		return nil
	}
	return r.timeout(err)
}

// backOff waits before all transactions but the first.
func (r *transactionRetries) backOff(ctx context.Context) error {
	if r.attempt == 0 {
		return nil
	}
	r.again = false
	backoff := transactionBackoff(r.attempt, r.jitter())
	if r.expired(backoff) {
		return r.timeout(r.last)
	}
	if err := r.clock.Sleep(ctx, backoff); err != nil {
		return transactionRetryError{last: r.last, cause: err}
	}
	return nil
}

// expired reports whether the time is over after a further wait.
func (r *transactionRetries) expired(wait time.Duration) bool {
	return !r.clock.Now().Add(wait).Before(r.deadline)
}

// timeout returns the error of a transaction that would be run again if there were time. An error that is a timeout already
// stays what it is (transactions-convenient-api.md, "Timeout Error propagation").
func (r *transactionRetries) timeout(last error) error {
	if IsTimeout(last) {
		return last
	}
	return transactionRetryError{last: last, cause: context.DeadlineExceeded}
}

// transactionRetryError ends the retries of a transaction for want of time. It wraps the last error, and so has its
// labels; errors.Is also knows it as the error of the context, and IsTimeout as a timeout if it is one.
type transactionRetryError struct {
	last, cause error
}

// Error implements the error interface.
func (e transactionRetryError) Error() string {
	return fmt.Sprintf("transaction is not retried: %v: %v", e.cause, e.last)
}

// Unwrap returns the last error.
func (e transactionRetryError) Unwrap() error { return e.last }

// Is reports whether the target is the error of the context that ended the retries.
func (e transactionRetryError) Is(target error) bool { return errors.Is(e.cause, target) }
