package servererror

import "fmt"

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
var names = map[int32]string{
	CodeBadValue: "BadValue", 8: "UnknownError", CodeTypeMismatch: "TypeMismatch", 43: "CursorNotFound", 50: "MaxTimeMSExpired",
	CodeCommandNotFound: "CommandNotFound", 64: "WriteConcernTimeout", 89: "NetworkTimeout", 91: "ShutdownInProgress",
	100: "UnsatisfiableWriteConcern", 112: "WriteConflict", 189: "PrimarySteppedDown", CodeNoSuchTransaction: "NoSuchTransaction",
	262: "ExceededTimeLimit", 391: "ReauthenticationRequired", 462: "IngressRequestRateLimitExceeded",
	463: "IngressOperationRateLimitExceeded", 473: "InterruptedDueToOverload", CodeNotWritablePrimary: "NotWritablePrimary",
	11000: "DuplicateKey", 11600: "InterruptedAtShutdown", 11601: "Interrupted", 11602: "InterruptedDueToReplStateChange",
	CodeNotPrimaryNoSecondaryOk: "NotPrimaryNoSecondaryOk", 13436: "NotPrimaryOrSecondary",
}

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
