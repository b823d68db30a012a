package driver

import "go.mongodb.org/mongo-driver/v2/internal/backpressure"

// inTransaction reports whether the command is one of a transaction, other than the one that ends it.
func (ex *operationRun) inTransaction() bool {
	client := ex.op.Client
	return client != nil && !client.Committing && !client.Aborting && client.TransactionRunning()
}

// strengthenCommit makes a repeated commitTransaction wait for the majority, as the first may have committed (transactions.md, "Majority
// write concern is used when retrying commitTransaction"). After an overload error it has not, and the write concern stays.
func (ex *operationRun) strengthenCommit() {
	if client := ex.op.Client; ex.op.commits() {
		client.UpdateCommitTransactionWriteConcern()
		ex.op.WriteConcern = client.CurrentWc
	}
}

// unpin releases the server or connection to which the session's transaction is pinned, if an error's labels tell that the
// transaction's state there is lost (transactions.md, "When to unpin").
func (ex *operationRun) unpin(err error) error {
	if backpressure.HasOwnLabel(err, TransientTransactionError) || backpressure.HasOwnLabel(err, UnknownTransactionCommitResult) {
		return ex.op.Client.ClearPinnedResources() // of nil, too: outside of a session, there is nothing to unpin
	}
	return nil
}

// unpinForRetry unpins the transaction if the next attempt may go elsewhere: an abort is unpinned before a server is selected for
// its retry (transactions.md, "When to unpin"), and a first command that was not executed has left no state on the server.
func (ex *operationRun) unpinForRetry() error {
	client := ex.op.Client
	if client == nil || (!ex.cmd.startsTxn && !ex.op.aborts()) {
		return nil
	}
	return client.ClearPinnedResources()
}

// labelCommitResult adds the label UnknownTransactionCommitResult to the error of a commit that the server may have executed, and
// converts a write concern error to the error that applications expect.
func (ex *operationRun) labelCommitResult(a *attempt, retryable bool) error {
	if !ex.op.commits() {
		return a.err
	}
	switch e := a.err.(type) {
	case Error:
		if retryable || e.Code == maxTimeMSExpired || lacksMajority(e) {
			return withLabel(e, UnknownTransactionCommitResult)
		}
	case WriteCommandError:
		if e.WriteConcernError != nil {
			return commitFailed(e)
		}
	}
	return a.err
}

// lacksMajority reports whether the reply to a failed commit also has a write concern error. A new primary that does not know the
// transaction says NoSuchTransaction, but until a majority confirms that, the commit may still turn out to have happened
// (transactions.md, "UnknownTransactionCommitResult"). Sent again, it gets a final answer.
func lacksMajority(e Error) bool {
	if e.HasErrorLabel(TransientTransactionError) {
		return false // by the label, the server says that it has not happened
	}
	code, ok := e.Raw.Lookup("writeConcernError", "code").AsInt64OK()
	return ok && confirmable(int32(code))
}

// labelTransaction adds the label that tells the application to run the transaction or its commit again to the error of a command that
// got no connection (transactions.md, "TransientTransactionError" and "UnknownTransactionCommitResult"). A commit must never have the
// first: the transaction would run again although an earlier attempt may have committed it.
func (ex *operationRun) labelTransaction(err error) error {
	switch {
	case ex.op.commits():
		return withLabel(withoutLabel(err, TransientTransactionError), UnknownTransactionCommitResult)
	case ex.inTransaction():
		return withLabel(err, TransientTransactionError)
	default:
		return err
	}
}

// confirmable reports whether a commit with a write concern error of this code may have happened. It has not if the members
// cannot satisfy the write concern.
func confirmable(code int32) bool {
	return code != unknownReplWriteConcernCode && code != unsatisfiableWriteConcernCode
}

// maxTimeMSExpired is the server's error code for a command that exceeded its maxTimeMS.
const maxTimeMSExpired = 50

// commitFailed converts the write concern error of a commitTransaction to the error that applications expect. The commit's result
// is unknown, unless the write concern cannot be satisfied at all.
func commitFailed(e WriteCommandError) error {
	wce := e.WriteConcernError
	failed := Error{
		Code:    int32(wce.Code),
		Name:    wce.Name,
		Message: wce.Message,
		Labels:  e.Labels,
		Raw:     e.Raw,
	}
	if !confirmable(failed.Code) {
		return failed
	}
	return withLabel(failed, UnknownTransactionCommitResult)
}
