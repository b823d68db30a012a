package mongo

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// wrapErrors converts errors of the driver's packages to those that applications see.
//
//fork:wrap a write that was interrupted before a retry has two errors: the server's, and the context's; labels of the outer error
func wrapErrors(err error) error {
	var interrupted driver.InterruptedWriteError
	if err == nil || !errors.As(err, &interrupted) {
		return withOuterLabel(upstreamWrapErrors(err), err)
	}
	_, exception := processWriteError(interrupted.WriteCommandError)
	return interruptedWrite{error: exception, interruption: interrupted}
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

// interruptedWrite is the error of a write that a server executed with an error, without time for a retry. It wraps the
// WriteException; errors.Is also finds the context's error in it.
type interruptedWrite struct {
	error
	interruption driver.InterruptedWriteError
}

// Error implements the error interface.
func (e interruptedWrite) Error() string {
	return e.error.Error() + ": " + e.interruption.Interruption()
}

// Unwrap returns the WriteException.
func (e interruptedWrite) Unwrap() error { return e.error }

// Is lets errors.Is find the context's error.
func (e interruptedWrite) Is(target error) bool {
	return errors.Is(e.interruption.Unwrap(), target)
}

// As lets errors.As find the error type that methods for many documents return.
func (e interruptedWrite) As(target any) bool {
	var exception WriteException
	if !errors.As(e.error, &exception) {
		return false
	}
	switch target := target.(type) {
	case *BulkWriteException:
		*target = BulkWriteException{WriteConcernError: exception.WriteConcernError, Labels: exception.Labels}
		for _, writeError := range exception.WriteErrors {
			target.WriteErrors = append(target.WriteErrors, BulkWriteError{WriteError: writeError})
		}
		return true
	case *ClientBulkWriteException:
		*target = ClientBulkWriteException{}
		if exception.WriteConcernError != nil {
			target.WriteConcernErrors = []WriteConcernError{*exception.WriteConcernError}
		}
		return true
	default:
		return false
	}
}
