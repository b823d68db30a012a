package driver

// inTransaction reports whether the command is one of a transaction, other than the one that ends it.
func (ex *execution) inTransaction() bool {
	client := ex.op.Client
	return client != nil && !client.Committing && !client.Aborting && client.TransactionRunning()
}

// labelTransaction adds the label that tells the application to run the transaction or its commit again, to an error of the
// network before the command was sent (transactions.md, "TransientTransactionError" and "UnknownTransactionCommitResult"). A
// commit must never have the first: the transaction would be run again although an earlier attempt may have committed it.
func (ex *execution) labelTransaction(err error) error {
	switch {
	case ex.committing():
		return withLabel(withoutLabel(err, TransientTransactionError), UnknownTransactionCommitResult)
	case ex.inTransaction():
		return withLabel(err, TransientTransactionError)
	default:
		return err
	}
}

// unpin releases the server or connection that the session's transaction is pinned to, once the transaction's state there
// is lost (transactions.md, "When to unpin"). It is not lost by a rejected command that is sent again.
func (ex *execution) unpin(fail *failure) error {
	if !fail.hasErrorLabel(TransientTransactionError) && !fail.hasErrorLabel(UnknownTransactionCommitResult) {
		return nil
	}
	return ex.op.Client.ClearPinnedResources()
}

// unpinForRetry releases what the transaction is pinned to where the next attempt need not go there: an abort is to be unpinned
// before a server is selected for its retry (transactions.md, "When to unpin"), and what did not start the transaction leaves
// no state on the server.
func (ex *execution) unpinForRetry() error {
	client := ex.op.Client
	if client == nil || !ex.startsTxn && !client.Aborting {
		return nil
	}
	return client.ClearPinnedResources()
}
