package driver

import "errors"

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
		return false
	}
	if ex.op.Type == Write {
		return handshakeErr.NetworkError() || handshakeErr.HasErrorLabel(RetryableWriteError)
	}
	return handshakeErr.RetryableRead()
}
