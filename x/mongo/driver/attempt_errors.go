package driver

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

// attemptErrors holds the errors of a command's failed attempts that may still be returned.
type attemptErrors struct {
	kind      retry.Kind
	inTxn     bool // the command is one of a transaction, other than its commit or abort
	first     error
	attempted error // the last after which the server may have executed the command
	previous  error // that of the attempt before the present one

	executed *attempt // the last that the server executed, without the write concern
}

// record records the failure of an attempt that is followed by another.
func (errs *attemptErrors) record(a *attempt) {
	if a.withheld {
		// The server's word counts more than the client's own decision.
		return
	}
	errs.previous = a.err
	if errs.first == nil {
		errs.first = a.err
	}
	if a.mayBeExecuted(errs.kind == retry.Read) {
		errs.attempted = a.err
	}
	if a.executed() {
		executed := *a
		errs.executed = &executed
	}
}

// toReturn returns the error of a command whose last attempt has failed: the last error that shows that an attempt was made, or
// the first error if there is none. For writes, and commands that may be writes, it is the last error after which the server may
// have executed the command (retryable-reads.md, "If a retry attempt fails"; retryable-writes.md, "Executing Retryable Write
// Commands").
//
// If the last attempt says that the transaction has to run again, so does the returned error (transactions.md,
// "TransientTransactionError").
func (errs *attemptErrors) toReturn(last *attempt) error {
	err := errs.first
	switch {
	case last.mayBeExecuted(errs.kind == retry.Read) || err == nil,
		last.stage == unauthenticated && !errs.mayHaveWritten(): // auth.md, "Reauthentication"
		err = last.err
	case errs.attempted != nil:
		err = errs.attempted
	}
	if errs.inTxn && last.hasLabel(TransientTransactionError) {
		err = withLabel(err, TransientTransactionError)
	}
	return err
}

// mayHaveWritten reports whether a server may have executed an earlier attempt, and that was no read. Its error counts more than that of a
// connection that could not be reauthenticated.
func (errs *attemptErrors) mayHaveWritten() bool {
	return errs.attempted != nil && errs.kind != retry.Read
}

// clearedPool is implemented by errors of a pool that was cleared before it had a connection.
type clearedPool interface {
	// ClearedFor reports whether that was for this failure to establish a connection.
	ClearedFor(failure error) bool
}

// waitsForOwnPoolClear reports, once for each failure, whether the attempt after it found the pool being cleared because of that failure,
// and is made again. A pool first tells whoever waits for a connection why it failed, then the application's monitors, and is cleared last.
// A retry may come in between; the next one waits until the server is known again.
func (errs *attemptErrors) waitsForOwnPoolClear(a *attempt) bool {
	var cleared clearedPool
	met := errs.previous != nil && errors.As(a.err, &cleared) && cleared.ClearedFor(errs.previous)
	errs.previous = nil
	return met
}
