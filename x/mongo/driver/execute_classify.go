package driver

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
)

// classify determines what failed an attempt, as far as it matters to the policy, and adds the labels that the Retryable Reads, Retryable
// Writes and Transactions specifications require. Without a policy there are no overload errors.
func (ex *operationRun) classify(a *attempt) retry.Cause {
	cause := retry.Other // the older specifications cover no other stage
	switch a.stage {
	case selecting:
		cause = ex.classifyCheckout(a)
	case sent:
		cause = ex.classifyReply(a)
	}
	switch {
	case ex.policy == nil || !a.hasLabel(ErrSystemOverloadedError):
		return cause
	case cause == retry.ReadWrite || cause == retry.Unestablished:
		return retry.OverloadReadWrite
	case a.hasLabel(ErrRetryableError):
		return retry.Overload
	default:
		return retry.Unmarked
	}
}

// classifyReply classifies the error of an attempt that was sent: what the server replied, or that no reply came.
func (ex *operationRun) classifyReply(a *attempt) retry.Cause {
	retryable := ex.retryableReadWrite(a)
	a.err = ex.addRetryableWriteError(a, retryable)
	_, writeFailed := a.err.(WriteCommandError)

	cause := retry.Other
	switch {
	case retryable && ex.retrySupported && a.retryEnabled && !ex.unsupportedStorageEngine(a.err):
		cause = retry.ReadWrite
	case writeFailed && !a.hasLabel(ErrSystemOverloadedError):
		cause = retry.Executed
	case retryable && ex.retrySupported && !a.retryEnabled && !ex.op.IsOutputAggregate: // with $out or $merge no option retries it
		cause = retry.ReadWriteOff
	}
	a.err = ex.labelCommitResult(a, retryable) // last, because it converts a WriteCommandError
	return cause
}

// retryableReadWrite reports whether the Retryable Reads or Retryable Writes specification retries after the error, regardless of
// the options.
func (ex *operationRun) retryableReadWrite(a *attempt) bool {
	switch e := a.err.(type) {
	case WriteCommandError:
		return e.Retryable(a.desc.Server.Kind, a.desc.WireVersion)
	case Error:
		if ex.op.Type == Write {
			return e.RetryableWrite(a.desc.WireVersion)
		}
		return e.RetryableRead()
	default:
		return false
	}
}

// addRetryableWriteError adds the label RetryableWriteError to a retryable error if the server has not: servers before 4.4 never do, and a
// network error is the driver's own. Commands of a transaction other than commit and abort never get it.
func (ex *operationRun) addRetryableWriteError(a *attempt, retryable bool) error {
	_, writeFailed := a.err.(WriteCommandError)
	if !retryable || !a.retryEnabled || ex.inTransaction() || ex.op.Type != Write && !writeFailed {
		return a.err
	}
	return withLabel(a.err, RetryableWriteError)
}

// classifyCheckout classifies the failure to select a server or to get a connection to it.
func (ex *operationRun) classifyCheckout(a *attempt) retry.Cause {
	establishment := establishmentError(a.err)
	cause := ex.checkoutCause(a.err, establishment)
	if cause != retry.Other || establishment != nil && backpressure.HasLabelInChain(a.err, NetworkError) { // or a failed dial
		a.err = ex.labelTransaction(ex.labelUnsentWrite(a.err))
	}
	switch {
	case cause == retry.Other, ex.inTransaction() && !ex.cmd.startsTxn: // that may be pinned to the lost server
		return retry.Other
	case ex.limit != retry.Never: // the command is retried by the older specifications
		return cause
	case !ex.op.retryEnabled() && !ex.op.IsOutputAggregate && (ex.op.Type == Read || ex.op.Type == Write):
		return retry.ReadWriteOff
	default:
		return retry.Other
	}
}

// checkoutCause returns why no command was sent, if that is retryable: the client itself could open no connection, the handshake of a new
// one, including the authentication step, met a retryable error, or the pool was cleared (retryable-reads.md and retryable-writes.md,
// "Retryable Error").
func (ex *operationRun) checkoutCause(err, establishment error) retry.Cause {
	var poolErr RetryablePoolError
	switch {
	case errors.Is(err, backpressure.ErrOwnLimit):
		return retry.OwnLimit
	case establishment != nil && ex.retryableHandshake(establishment):
		return retry.Unestablished
	case establishment == nil && errors.As(err, &poolErr) && poolErr.Retryable(): // a dialer's error may have that method, too
		return retry.ReadWrite
	default:
		return retry.Other
	}
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

// labelUnsentWrite adds the label RetryableWriteError to the error of a write for which there was no connection, because it could not be
// established or the pool was cleared, if retryWrites is on (retryable-writes.md, "RetryableWriteError Labels"). As with all errors,
// commands of a transaction other than commit and abort do not get it.
func (ex *operationRun) labelUnsentWrite(err error) error {
	if ex.op.Type != Write || !ex.op.retryEnabled() || ex.inTransaction() {
		return err
	}
	return withLabel(err, RetryableWriteError)
}

// retryableHandshake reports whether a handshake command failed with an error that is retryable for the command that needed the
// connection. For writes, the server says so by a label.
func (ex *operationRun) retryableHandshake(establishment error) bool {
	var handshakeErr Error
	if !errors.As(establishment, &handshakeErr) {
		return false // as for a failed dial, which is retried only as overload
	}
	if ex.op.Type == Write {
		return handshakeErr.NetworkError() || handshakeErr.HasErrorLabel(RetryableWriteError)
	}
	return handshakeErr.RetryableRead()
}
