package driver

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

// stage is how far an attempt got.
type stage uint8

const (
	// selecting: there was no server or no connection.
	selecting stage = iota
	// preparing: the command could not be built, or there was no time to send it. No policy retries that.
	preparing
	// sent: the server may have received it.
	sent
	// unauthenticated: the server wanted the connection to be reauthenticated, which failed.
	unauthenticated
)

// attempt is the result of an attempt to send a command.
type attempt struct {
	err   error
	stage stage
	cause retry.Cause // what failed it, once that has been classified
	// timeUp is set once the attempt has failed: whether the operation's context ended it, or left no time to send it. The selection of
	// a server may end before that, by a timeout of its own, and so may a command for the keys of encryption.
	timeUp   bool
	foreign  bool // its command could not be built: a timeout may be one of a command for the keys of encryption
	withheld bool // the client did not send it, because the server would have rejected it

	requestID int32
	link      // empty if there was no connection
	address   address.Address
	desc      description.SelectedServer
	reply     bsoncore.Document

	retryEnabled bool // by the operation's RetryMode, which building the command may set
	moreToCome   bool // no reply will follow
}

// link is a connection and its server.
type link struct {
	server Server
	conn   *mnet.Connection
}

// mayBeExecuted reports whether the command was sent and, unless it is a read, the server did not deny that it executed anything.
func (a *attempt) mayBeExecuted(read bool) bool {
	return a.stage == sent && (read || !a.hasLabel(NoWritesPerformed))
}

// executed reports whether a reply says that the server executed the command, perhaps with write errors or without the write concern.
func (a *attempt) executed() bool {
	if a.err == nil {
		return a.stage == sent && !a.moreToCome
	}
	_, ok := a.err.(WriteCommandError)
	return ok && a.stage == sent
}

// hasLabel reports whether the error is about this command, and has the label. The labels of a wrapped error are not its own: if a
// reply cannot be decrypted because the key vault is overloaded, the server has executed the command; and an error while a command is
// built never means a rejection.
func (a *attempt) hasLabel(label string) bool {
	return a.stage != preparing && backpressure.HasOwnLabel(a.err, label)
}

// tooLate reports whether there was no time to send it.
func (a *attempt) tooLate() bool { return a.timeUp && a.stage < sent }

// isContextError reports whether an error comes from the operation's deadline or cancellation.
func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// isDisconnected reports whether an attempt or a wait ended because the client was disconnected.
func isDisconnected(err error) bool { return errors.Is(err, backpressure.ErrDisconnected) }

// attemptErrors holds the errors of a command's failed attempts that may still be returned.
type attemptErrors struct {
	kind      retry.Kind
	inTxn     bool // the command is one of a transaction, other than its commit or abort
	first     error
	attempted error // the last after which the server may have executed the command
	previous  error // that of the attempt before the present one
	asked     bool  // whether waitsForOwnPoolClear was called since that error

	executed *attempt // the last that the server executed, without the write concern
}

// record records the failure of an attempt that is followed by another.
func (errs *attemptErrors) record(a *attempt) {
	if a.withheld {
		// The server's word counts more than the client's own decision.
		return
	}
	errs.previous, errs.asked = a.err, false
	if errs.first == nil {
		errs.first = a.err
	}
	if a.mayBeExecuted(errs.kind == retry.Read) {
		errs.attempted = a.err
	}
	if a.executed() {
		executed := *a // the run makes the next attempt in a
		errs.executed = &executed
	}
}

// toReturn returns the error of a command whose last attempt has failed: the last error that shows that an attempt was made, or the first
// error if there is none. For writes, and commands that may be writes, it is the last error after which the server may have executed the
// command (retryable-reads.md, "If a retry attempt fails"; retryable-writes.md, "Executing Retryable Write Commands").
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
	met := !errs.asked && errors.As(a.err, &cleared) && cleared.ClearedFor(errs.previous)
	errs.asked = true
	return met
}

// retryableWriteLabeler is implemented by errors of other packages that can have the label RetryableWriteError and stay of their type.
type retryableWriteLabeler interface {
	error

	// ForWrite returns a copy of the error that has the label.
	ForWrite() error
}

// withLabel returns the error with the label added. If the error's type cannot have labels, it is wrapped by one that can, which
// also has the labels of the wrapped one.
func withLabel(err error, label string) error {
	if backpressure.HasLabelInChain(err, label) {
		return err
	}
	switch e := err.(type) {
	case Error:
		e.Labels = addLabel(e.Labels, label)
		return e
	case WriteCommandError:
		e.Labels = addLabel(e.Labels, label)
		return e
	default:
		if labeler, ok := err.(retryableWriteLabeler); ok && label == RetryableWriteError {
			return labeler.ForWrite()
		}
		return Error{Message: err.Error(), Labels: addLabel(backpressure.LabelsInChain(err), label), Wrapped: err, repeats: true}
	}
}

// Error knows whether its message is that of the error that it wraps, and whether its command was sent.
//
//fork:extend an error that gets a label would be told twice; commits that were not sent
type Error struct {
	repeats bool // the message of the wrapped error
	unsent  bool // certainly no server has executed the command
}

// A message that only repeats the wrapped error's is there once.
//
//fork:wrap an error that gets a label would be told twice
func (e Error) Error() string {
	if e.repeats {
		e.Wrapped = nil // of this copy: its text follows the message otherwise
	}
	return e.upstreamError()
}

// Is lets errors.Is find whether certainly no server has executed the command.
func (e Error) Is(target error) bool { return e.unsent && target == backpressure.ErrNeverSent }

// withoutLabel returns the error without the label, if it is an Error; others are returned as they are.
func withoutLabel(err error, label string) error {
	e, ok := err.(Error)
	if !ok {
		return err
	}
	var kept []string
	for _, l := range e.Labels {
		if l != label {
			kept = append(kept, l)
		}
	}
	e.Labels = kept
	return e
}

// addLabel returns the labels with one more. It never writes to the labels' array, which copies of errors may share.
func addLabel(labels []string, label string) []string {
	return append(labels[:len(labels):len(labels)], label)
}
