package mongo

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// wrapErrors converts errors of the driver's packages to those that applications see.
//
//fork:wrap a write that was interrupted before a retry has two errors: the server's, and the context's; labels of the outer error
func wrapErrors(err error) error {
	if err == nil {
		return nil
	}
	if interruption, ok := err.(backpressure.Interruption); ok {
		_, exception := upstreamProcessWriteError(interruption.Err)
		return interruption.Around(exception)
	}
	return withOuterLabel(upstreamWrapErrors(err), err)
}

// processWriteError converts the error of a write.
//
//fork:wrap a write that was interrupted before a retry has two errors: the server's, and the context's
func processWriteError(err error) (returnResult, error) {
	interruption, ok := err.(backpressure.Interruption)
	if !ok {
		return upstreamProcessWriteError(err)
	}
	result, exception := upstreamProcessWriteError(interruption.Err)
	return result, interruption.Around(exception)
}

// withOuterLabel adds the label RetryableWriteError to a CommandError that was made of an error with it. CommandErrors take the labels of the
// command that failed; if that was one of the handshake, the error around it knows what the connection was for.
func withOuterLabel(wrapped, err error) error {
	e, ok := wrapped.(CommandError)
	if !ok || e.HasErrorLabel(driver.RetryableWriteError) || !errorHasLabel(err, driver.RetryableWriteError) {
		return wrapped
	}
	e.Labels = append(e.Labels[:len(e.Labels):len(e.Labels)], driver.RetryableWriteError)
	return e
}

// withOutcome returns a context that tells how a command ended. Writes of many documents need it, because the exceptions that
// are made of their commands' errors have no place for another error.
func withOutcome(ctx context.Context) (context.Context, *backpressure.Outcome) {
	purpose := backpressure.PurposeOf(ctx)
	purpose.Outcome = &backpressure.Outcome{}
	return backpressure.WithPurpose(ctx, purpose), purpose.Outcome
}

// exceptionOf returns the exception of a write of many documents, and with it why a command was not retried for lack of time.
func exceptionOf(err error, outcome *backpressure.Outcome) error {
	var known backpressure.Interruption
	if err == nil || outcome.Interruption == nil || errors.As(err, &known) {
		return err
	}
	return outcome.Interruption.Around(err)
}

//fork:wrap an interrupted write tells the context's error as well
func (coll *Collection) InsertMany(
	ctx context.Context,
	documents any,
	opts ...options.Lister[options.InsertManyOptions],
) (*InsertManyResult, error) {
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, outcome := withOutcome(ctx)
	result, err := coll.upstreamInsertMany(ctx, documents, opts...)
	return result, exceptionOf(err, outcome)
}

// execute executes the bulk write.
//
//fork:wrap an interrupted write tells the context's error as well
func (bw *bulkWrite) execute(ctx context.Context) error {
	ctx, outcome := withOutcome(ctx)
	return exceptionOf(bw.upstreamExecute(ctx), outcome)
}
