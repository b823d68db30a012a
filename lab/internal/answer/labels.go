package answer

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
)

// Labels returns the labels that a server itself gives a command's error; a code of 0 stands for no error. A router gives no
// RetryableWriteError, because it has already retried. Not included are labels of change streams, for which a server looks at the
// cursor's origin, and NoWritesPerformed, for which it looks at its oplog.
func Labels(command bson.Raw, code, writeConcernCode int32, router bool) []string {
	if !bsondoc.Has(command, "txnNumber") {
		return nil
	}
	inTransaction := bsondoc.Has(command, "autocommit")
	ends := endsTransaction(command)
	if inTransaction && isTransient(code, writeConcernCode != 0, ends) {
		return []string{LabelTransientTransaction}
	}
	if inTransaction && !ends || router {
		return nil
	}
	if IsA(code, Retriable) || IsA(writeConcernCode, Retriable) {
		return []string{LabelRetryableWrite}
	}
	return nil
}

// isTransient reports whether the transaction may succeed when it is run again.
func isTransient(code int32, hasWriteConcernError, ends bool) bool {
	switch {
	case IsA(code, Conflict):
		return true
	case code == CodeNoSuchTransaction:
		// A committed transaction may still be rolled back, and would then be run twice.
		return !ends || !hasWriteConcernError
	default:
		return !ends && IsA(code, Retriable)
	}
}

func endsTransaction(command bson.Raw) bool {
	name := bsondoc.FirstKey(command)
	return name == "commitTransaction" || name == "abortTransaction"
}
