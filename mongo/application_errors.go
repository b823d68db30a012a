package mongo

import (
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
)

// wrapErrors converts errors of the driver's packages to those that applications see.
//
//fork:wrap a write that was interrupted before a retry has two errors: the server's, and the context's; labels of the outer error
func wrapErrors(err error) error {
	switch e := err.(type) {
	case nil:
		return nil
	case CommandError, BulkWriteException, ClientBulkWriteException:
		return err // which was converted before
	case backpressure.Interruption:
		_, exception := upstreamProcessWriteError(e.Err)
		return e.Around(exception)
	default:
		return withOuterLabels(upstreamWrapErrors(err), err)
	}
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

// withOuterLabels adds the labels of a retryable write and of a retryable overload error to a CommandError that was made of an error with
// them. CommandErrors take those of the command that failed; if that was one of the handshake, the error around it knows what the
// connection was for, and whether the server may be overloaded.
func withOuterLabels(wrapped, err error) error {
	e, ok := wrapped.(CommandError)
	if !ok {
		return wrapped
	}
	e.Labels = e.Labels[:len(e.Labels):len(e.Labels)] // append must not write to the array, which err may share
	for _, label := range []string{driver.RetryableWriteError, driver.ErrSystemOverloadedError, driver.ErrRetryableError} {
		if !e.HasErrorLabel(label) && errorHasLabel(err, label) {
			e.Labels = append(e.Labels, label)
		}
	}
	return e
}

// IsPoolClearedError returns true if err says that an operation got no connection, or its command was not sent, because the connections to
// its server were given up: another operation or the server's monitor has met a network error, or the server has not been checked yet. That
// command was not executed. Operations can be tried again once the server is known, usually within a second.
func IsPoolClearedError(err error) bool { return topology.IsPoolCleared(err) }
