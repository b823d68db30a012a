package servererror

import "fmt"

// Codes of the errors that the lab itself returns, or acts upon.
const (
	CodeBadValue                  = 2
	CodeTypeMismatch              = 14
	CodeCommandNotFound           = 59
	CodeShutdownInProgress        = 91
	CodePrimarySteppedDown        = 189
	CodeNoSuchTransaction         = 251
	CodeIngressRequestRateLimit   = 462
	CodeIngressOperationRateLimit = 463
	CodeInterruptedDueToOverload  = 473
	CodeNotWritablePrimary        = 10107
	CodeInterruptedAtShutdown     = 11600
	CodeInterruptedByStateChange  = 11602
	CodeNotPrimaryNoSecondaryOk   = 13435
	CodeNotPrimaryOrSecondary     = 13436
)

var names = map[int32]string{
	CodeBadValue: "BadValue", CodeTypeMismatch: "TypeMismatch", CodeCommandNotFound: "CommandNotFound",
	CodeShutdownInProgress: "ShutdownInProgress", CodePrimarySteppedDown: "PrimarySteppedDown",
	CodeNoSuchTransaction: "NoSuchTransaction", CodeIngressRequestRateLimit: "IngressRequestRateLimitExceeded",
	CodeIngressOperationRateLimit: "IngressOperationRateLimitExceeded", CodeInterruptedDueToOverload: "InterruptedDueToOverload",
	CodeNotWritablePrimary: "NotWritablePrimary", CodeInterruptedAtShutdown: "InterruptedAtShutdown",
	CodeInterruptedByStateChange: "InterruptedDueToReplStateChange", CodeNotPrimaryNoSecondaryOk: "NotPrimaryNoSecondaryOk",
	CodeNotPrimaryOrSecondary: "NotPrimaryOrSecondary",
	// Those that fail points of the specifications' tests give.
	8: "UnknownError", 43: "CursorNotFound", 50: "MaxTimeMSExpired", 64: "WriteConcernTimeout", 89: "NetworkTimeout",
	100: "UnsatisfiableWriteConcern", 112: "WriteConflict", 262: "ExceededTimeLimit", 391: "ReauthenticationRequired",
	11000: "DuplicateKey", 11601: "Interrupted",
}

var (
	// retriable are errors after which the same command may succeed elsewhere or later.
	retriable = []int32{
		6, 7, 89, CodeShutdownInProgress, 134, CodePrimarySteppedDown, 262, 9001, CodeNotWritablePrimary, CodeInterruptedAtShutdown,
		CodeInterruptedByStateChange, CodeNotPrimaryNoSecondaryOk, CodeNotPrimaryOrSecondary,
	}
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
