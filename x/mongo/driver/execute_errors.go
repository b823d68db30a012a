package driver

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
)

// stage is how far a failed attempt got.
type stage uint8

const (
	// selecting: there was no server or no connection.
	selecting stage = iota
	// throttled: the client refused to send it.
	throttled
	// preparing: the command could not be built. No policy retries that.
	preparing
	// sending: the command was sent, or would have been if there had been time.
	sending
)

// failedAttempt is one failed attempt.
type failedAttempt struct {
	err       error
	stage     stage
	readWrite bool // retryable under the Retryable Reads or Retryable Writes specification
	executed  bool // the server executed the command, with write errors

	// The error, if there was no attempt because the operation's context has ended or is about to.
	late error

	// Those specifications would retry it if retryReads or retryWrites were on.
	readWriteOff bool

	server address.Address // for which the attempt was refused; empty if it was not
}

// unsentAttempt returns the failure of an attempt that did not reach the server.
func unsentAttempt(ctx context.Context, err error, s stage) *failedAttempt {
	fail := &failedAttempt{err: err, stage: s}
	// A server selection may end before the context, by its own timeout.
	if isContextError(err) && (s != selecting || ctx.Err() != nil) {
		fail.late = err
	}
	return fail
}

// attempted reports whether the command was sent and, unless it is a read, the server may have executed it, that is, did not deny
// it.
func (fail *failedAttempt) attempted(kind retry.Kind) bool {
	return fail.stage == sending && fail.late == nil && (kind == retry.Read || !fail.hasErrorLabel(NoWritesPerformed))
}

// hasErrorLabel reports whether the error is about this command, and has the label. The labels of a wrapped error are not its
// own: if a reply cannot be decrypted because the key vault is overloaded, the server has executed the command; and an error
// while a command is built never means a rejection.
func (fail *failedAttempt) hasErrorLabel(label string) bool {
	return fail.stage != preparing && backpressure.HasLabel(fail.err, label)
}

// isRetryableOverloadError reports whether the error has both labels of a retryable overload error.
func (fail *failedAttempt) isRetryableOverloadError() bool {
	return fail.stage != preparing && backpressure.IsRetryableOverload(fail.err)
}

// classify determines whether the Retryable Reads or Retryable Writes specification covers the failure, and adds the labels that
// these specifications require.
func (ex *operationRun) classify(fail *failedAttempt) {
	switch fail.stage {
	case selecting:
		ex.classifyCheckout(fail)
	case sending:
		retryable := ex.retryableReadWrite(fail.err)
		fail.err = ex.addRetryableWriteError(fail.err, retryable)
		fail.readWrite = retryable && ex.retrySupported && ex.sent.retryEnabled && !ex.unsupportedStorageEngine(fail.err)
		fail.readWriteOff = retryable && ex.retrySupported && !ex.sent.retryEnabled && !ex.op.IsOutputAggregate
		_, writeFailed := fail.err.(WriteCommandError)
		fail.executed = writeFailed && !fail.readWrite && !fail.hasErrorLabel(ErrSystemOverloadedError)
		fail.err = ex.labelCommitResult(fail.err)
	}
}

// retryableReadWrite reports whether the Retryable Reads or Retryable Writes specification retries after the error, regardless of
// the options.
func (ex *operationRun) retryableReadWrite(err error) bool {
	desc := ex.sent.desc
	switch e := err.(type) {
	case WriteCommandError:
		return e.Retryable(desc.Server.Kind, desc.WireVersion)
	case Error:
		if ex.op.Type == Write {
			return e.RetryableWrite(desc.WireVersion)
		}
		return e.RetryableRead()
	default:
		return false
	}
}

// addRetryableWriteError adds the label RetryableWriteError if the server does not: servers before 4.4 never do, and none does
// for a network error. Commands of a transaction other than commit and abort never get it.
func (ex *operationRun) addRetryableWriteError(err error, retryable bool) error {
	if !ex.sent.retryEnabled || ex.inTransaction() {
		return err
	}
	wireVersion := ex.sent.desc.WireVersion
	unlabeled := retryable && wireVersion != nil && wireVersion.Max < 9

	switch e := err.(type) {
	case WriteCommandError:
		if unlabeled {
			return withLabel(e, RetryableWriteError)
		}
	case Error:
		if ex.op.Type == Write && (unlabeled || e.HasErrorLabel(NetworkError)) {
			return withLabel(e, RetryableWriteError)
		}
	}
	return err
}

// unsupportedStorageEngine reports whether a retryable write failed because the server's storage engine supports none.
func (ex *operationRun) unsupportedStorageEngine(err error) bool {
	if !ex.retrySupported || ex.op.Type != Write {
		return false
	}
	switch e := err.(type) {
	case WriteCommandError:
		return e.UnsupportedStorageEngine()
	case Error:
		return e.UnsupportedStorageEngine()
	default:
		return false
	}
}

// classifyCheckout determines whether the Retryable Reads or Retryable Writes specification covers the failure to select a server
// or to get a connection to it, and labels its error as they and the Transactions specification say.
func (ex *operationRun) classifyCheckout(fail *failedAttempt) {
	retryable := ex.retryableCheckout(fail.err)
	if retryable || (isEstablishmentError(fail.err) && hasLabel(fail.err, NetworkError)) {
		fail.err = ex.labelTransaction(ex.labelUnsentWrite(fail.err))
	}
	// A transaction that has begun may be pinned to the lost server.
	fail.readWrite = retryable && (!ex.inTransaction() || ex.startsTxn)
	fail.readWriteOff = fail.readWrite && !ex.op.retryEnabled() && !ex.op.IsOutputAggregate &&
		(ex.op.Type == Read || ex.op.Type == Write)
}

// labelUnsentWrite adds the label RetryableWriteError to the error of a write for which there was no connection, because it could not be
// established or the pool was cleared, if retryWrites is on (retryable-writes.md, "RetryableWriteError Labels"). As with all errors,
// commands of a transaction other than commit and abort do not get it.
func (ex *operationRun) labelUnsentWrite(err error) error {
	if ex.op.Type != Write || !ex.op.retryEnabled() || ex.inTransaction() {
		return err
	}
	return withLabel(err, RetryableWriteError)
}

// retryableCheckout reports whether no command was sent because the pool was cleared, or because the handshake of a new
// connection, including the authentication step, met a retryable error (retryable-reads.md and retryable-writes.md, "Retryable
// Error").
func (ex *operationRun) retryableCheckout(err error) bool {
	if isEstablishmentError(err) {
		return ex.retryableHandshake(err)
	}
	var poolErr RetryablePoolError
	return errors.As(err, &poolErr) && poolErr.Retryable()
}

// retryableHandshake reports whether a handshake command failed with an error that is retryable for the command that needed the
// connection. For writes, the server says so by a label.
func (ex *operationRun) retryableHandshake(err error) bool {
	var handshakeErr Error
	if !errors.As(establishmentError(err), &handshakeErr) {
		return false
	}
	if ex.op.Type == Write {
		return handshakeErr.NetworkError() || handshakeErr.HasErrorLabel(RetryableWriteError)
	}
	return handshakeErr.RetryableRead()
}

// connectionError is implemented by connection errors, and describes connections that could not be established. If the server
// may be overloaded, the error has the labels of a retryable overload error.
type connectionError interface {
	error

	// HasErrorLabel reports whether the error, or that of the failed handshake command, has the label.
	HasErrorLabel(string) bool

	// ServerAddress returns the server to which the connection could not be established. It is empty for a connection that was
	// established, or that no pool requested.
	ServerAddress() address.Address
}

// establishmentError returns the connectionError that the error is or wraps, or nil if it is not about a connection that could not
// be established.
func establishmentError(err error) error {
	var establishment connectionError
	if !errors.As(err, &establishment) || establishment.ServerAddress() == "" {
		return nil
	}
	return establishment
}

func isEstablishmentError(err error) bool { return establishmentError(err) != nil }
