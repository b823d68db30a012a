package driver

// inTransaction reports whether the command is one of a transaction, other than the one that ends it.
func (ex *operationRun) inTransaction() bool {
	client := ex.op.Client
	return client != nil && !client.Committing && !client.Aborting && client.TransactionRunning()
}

// labelTransaction adds the label that tells the application to run the transaction or its commit again to a network error that
// occurred before the command was sent (transactions.md, "TransientTransactionError" and "UnknownTransactionCommitResult"). A
// commit must never have the first: the transaction would run again although an earlier attempt may have committed it.
func (ex *operationRun) labelTransaction(err error) error {
	switch {
	case ex.committing():
		return withLabel(withoutLabel(err, TransientTransactionError), UnknownTransactionCommitResult)
	case ex.inTransaction():
		return withLabel(err, TransientTransactionError)
	default:
		return err
	}
}

// unpin releases the server or connection to which the session's transaction is pinned, once the transaction's state there is
// lost (transactions.md, "When to unpin"). A rejected command that is sent again does not lose it.
func (ex *operationRun) unpin(fail *failedAttempt) error {
	if !fail.hasErrorLabel(TransientTransactionError) && !fail.hasErrorLabel(UnknownTransactionCommitResult) {
		return nil
	}
	return ex.op.Client.ClearPinnedResources()
}

// unpinForRetry unpins the transaction if the next attempt may go elsewhere: an abort is unpinned before a server is selected for
// its retry (transactions.md, "When to unpin"), and a command that did not start the transaction leaves no state on the server.
func (ex *operationRun) unpinForRetry() error {
	client := ex.op.Client
	if client == nil || (!ex.startsTxn && !client.Aborting) {
		return nil
	}
	return client.ClearPinnedResources()
}
