// Package servererror makes the replies that the lab gives itself, in a server's form.
package servererror

import (
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
)

// Codes of the errors that the lab itself returns, or acts upon.
const (
	CodeBadValue                = 2
	CodeTypeMismatch            = 14
	CodeCommandNotFound         = 59
	CodeNoSuchTransaction       = 251
	CodeNotWritablePrimary      = 10107
	CodeNotPrimaryNoSecondaryOk = 13435
)

// names are those of these codes, of the others below, and of those that fail points of the specifications' tests give.
var names = map[int32]string{CodeBadValue: "BadValue", 8: "UnknownError", CodeTypeMismatch: "TypeMismatch", 43: "CursorNotFound",
	50: "MaxTimeMSExpired", CodeCommandNotFound: "CommandNotFound", 64: "WriteConcernTimeout", 89: "NetworkTimeout",
	91: "ShutdownInProgress", 100: "UnsatisfiableWriteConcern", 112: "WriteConflict", 189: "PrimarySteppedDown",
	CodeNoSuchTransaction: "NoSuchTransaction", 262: "ExceededTimeLimit", 391: "ReauthenticationRequired",
	462: "IngressRequestRateLimitExceeded", 463: "IngressOperationRateLimitExceeded", 473: "InterruptedDueToOverload",
	CodeNotWritablePrimary: "NotWritablePrimary", 11000: "DuplicateKey", 11600: "InterruptedAtShutdown", 11601: "Interrupted",
	11602: "InterruptedDueToReplStateChange", CodeNotPrimaryNoSecondaryOk: "NotPrimaryNoSecondaryOk", 13436: "NotPrimaryOrSecondary"}

// StateChanges are the codes of a member that is not, or no longer, in the role that the command needs.
var StateChanges = []int32{91, 189, CodeNotWritablePrimary, 11600, 11602, CodeNotPrimaryNoSecondaryOk, 13436}

var (
	// retriable are errors after which the same command may succeed elsewhere or later.
	retriable = append([]int32{6, 7, 89, 134, 262, 9001}, StateChanges...)
	// conflicts are errors that end a transaction, which may succeed if tried again.
	conflicts = []int32{24, 112, 150, 239, 246, 249, 250, 267, 272, 13388}
)

// CodeName returns a code's name. Like a server, it derives the name of an unnamed code from the code.
func CodeName(code int32) string {
	if name, ok := names[code]; ok {
		return name
	}
	return fmt.Sprintf("Location%d", code)
}

// OK returns the reply of a command that succeeded.
func OK(elements ...bson.E) bson.Raw {
	return bsondoc.Marshal(append(bson.D(elements), bsondoc.D("ok", 1.0)...))
}

// Error is a command that failed.
type Error struct {
	Code    int32
	Message string
	Labels  []string // none leaves the field out, as servers do
	Extra   bson.D   // further fields of the reply
}

// Errorf returns an error without labels.
func Errorf(code int32, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Reply returns the reply with the error.
func (e *Error) Reply() bson.Raw {
	doc := bsondoc.D("ok", 0.0, "errmsg", e.Message, "code", e.Code, "codeName", CodeName(e.Code))
	if len(e.Labels) > 0 {
		doc = append(doc, bsondoc.D("errorLabels", e.Labels)...)
	}
	return bsondoc.Marshal(append(doc, e.Extra...))
}

// WithConcern returns the reply with a write concern error and with labels, if there are any. The labels are beside the error, not within
// it.
func WithConcern(reply bson.Raw, concern any, labels []string) bson.Raw {
	added := bsondoc.D("writeConcernError", concern)
	if len(labels) > 0 {
		added = append(added, bsondoc.D("errorLabels", labels)...)
	}
	return bsondoc.With(reply, added...)
}

// The ways in which a server sheds load. They differ mainly in their labels, which clients have to follow.
var (
	// RequestRate is error 462 of the ingress request limiter, with the labels of servers since 8.2.6: it is retryable, and nothing was
	// written.
	RequestRate = &Error{Code: 462, Message: requestRate, Labels: []string{overloaded, retryable, noWrites}}
	// RequestRateBefore826 is the same as older servers label it.
	RequestRateBefore826 = &Error{Code: 462, Message: requestRate, Labels: []string{overloaded, retryable}}
	// OperationRate is 463 of Atlas' adaptive limiter: retryable, no writes.
	OperationRate = &Error{Code: 463, Message: "the rate of operations exceeds the server's limit",
		Labels: []string{overloaded, retryable, noWrites}}
	// Interrupted is error 473, with which a server ends a running operation. It is an overload error, but not retryable.
	Interrupted = &Error{Code: 473, Message: "the operation was interrupted by an overloaded server",
		Labels: []string{overloaded}}
)

const (
	requestRate = "the rate of requests exceeds the server's limit"

	overloaded, retryable, noWrites = "SystemOverloadedError", "RetryableError", "NoWritesPerformed"
)

// Labels returns the labels that a server itself gives a command's error; a code of 0 stands for no error. A router gives no
// RetryableWriteError, because it has already retried. Not included are labels of change streams, for which a server looks at the
// cursor's origin, and NoWritesPerformed, for which it looks at its oplog.
func Labels(command bson.Raw, code, writeConcernCode int32, router bool) []string {
	inTransaction := bsondoc.Has(command, "autocommit")
	ends := slices.Contains([]string{"commitTransaction", "abortTransaction"}, bsondoc.FirstKey(command))
	retriable := func(code int32) bool { return slices.Contains(retriable, code) }
	// A committed transaction may still be rolled back, and would then be run twice.
	unknown := code == CodeNoSuchTransaction && !(ends && writeConcernCode != 0)
	switch {
	case !bsondoc.Has(command, "txnNumber"):
		return nil
	case inTransaction && (unknown || slices.Contains(conflicts, code) || !ends && retriable(code)):
		return []string{"TransientTransactionError"}
	case (ends || !inTransaction) && !router && (retriable(code) || retriable(writeConcernCode)):
		return []string{"RetryableWriteError"}
	}
	return nil
}
