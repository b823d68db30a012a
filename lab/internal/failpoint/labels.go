package failpoint

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/answer"
)

// labels returns the labels that a server gives an error where the fail point does not say; a code of 0 stands for no
// error. A router gives no RetryableWriteError: it has tried again itself. Labels of change streams, for which a server
// looks at the cursor's origin, and NoWritesPerformed, for which it looks at its oplog, have to be given.
func labels(command bson.Raw, code, writeConcernCode int32, router bool) []string {
	if command.Lookup("txnNumber").IsZero() {
		return nil
	}
	inTransaction := !command.Lookup("autocommit").IsZero()
	ends := endsTransaction(command)
	if inTransaction && isTransient(code, writeConcernCode != 0, ends) {
		return []string{answer.LabelTransientTransaction}
	}
	if inTransaction && !ends || router {
		return nil
	}
	if answer.IsA(code, answer.Retriable) || answer.IsA(writeConcernCode, answer.Retriable) {
		return []string{answer.LabelRetryableWrite}
	}
	return nil
}

// isTransient tells whether a transaction may succeed when it is run again as a whole.
func isTransient(code int32, hasWriteConcernError, ends bool) bool {
	switch {
	case answer.IsA(code, answer.Conflict):
		return true
	case code == answer.CodeNoSuchTransaction:
		// What was committed may yet be rolled back, and then the transaction would be run twice.
		return !ends || !hasWriteConcernError
	default:
		return !ends && answer.IsA(code, answer.Retriable)
	}
}

func endsTransaction(command bson.Raw) bool {
	element, err := command.IndexErr(0)
	if err != nil {
		return false
	}
	return element.Key() == "commitTransaction" || element.Key() == "abortTransaction"
}
