package servererror

import "fmt"

// Codes of the errors that the lab itself returns.
const (
	CodeBadValue                  = 2
	CodeTypeMismatch              = 14
	CodeCommandNotFound           = 59
	CodeInvalidOptions            = 72
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

// Class determines how a server labels an error.
type Class uint8

const (
	// Retriable is an error after which the same command may succeed elsewhere or later.
	Retriable Class = 1 << iota
	// Conflict is an error that ends a transaction, which may succeed if tried again.
	Conflict
)

type code struct {
	code  int32
	name  string
	class Class
}

// codes are the codes that tests and clients use. The table is read only.
var codes = [...]code{
	{1, "InternalError", 0}, {CodeBadValue, "BadValue", 0}, {6, "HostUnreachable", Retriable}, {7, "HostNotFound", Retriable},
	{8, "UnknownError", 0}, {13, "Unauthorized", 0}, {CodeTypeMismatch, "TypeMismatch", 0},
	{18, "AuthenticationFailed", 0}, {20, "IllegalOperation", 0}, {24, "LockTimeout", Conflict},
	{26, "NamespaceNotFound", 0}, {43, "CursorNotFound", 0}, {50, "MaxTimeMSExpired", 0},
	{CodeCommandNotFound, "CommandNotFound", 0}, {64, "WriteConcernTimeout", 0}, {CodeInvalidOptions, "InvalidOptions", 0},
	{76, "NoReplicationEnabled", 0}, {79, "UnknownReplWriteConcern", 0},
	{89, "NetworkTimeout", Retriable}, {CodeShutdownInProgress, "ShutdownInProgress", Retriable},
	{100, "UnsatisfiableWriteConcern", 0}, {112, "WriteConflict", Conflict},
	{133, "FailedToSatisfyReadPreference", 0}, {134, "ReadConcernMajorityNotAvailableYet", Retriable},
	{150, "StaleEpoch", Conflict}, {CodePrimarySteppedDown, "PrimarySteppedDown", Retriable}, {216, "ElectionInProgress", 0},
	{225, "TransactionTooOld", 0}, {234, "RetryChangeStream", 0}, {237, "CursorKilled", 0}, {239, "SnapshotTooOld", Conflict},
	{246, "SnapshotUnavailable", Conflict}, {249, "StaleDbVersion", Conflict}, {250, "StaleChunkHistory", Conflict},
	{CodeNoSuchTransaction, "NoSuchTransaction", 0}, {256, "TransactionCommitted", 0}, {262, "ExceededTimeLimit", Retriable},
	{263, "OperationNotSupportedInTransaction", 0}, {266, "FailPointSetFailed", 0},
	{267, "PreparedTransactionInProgress", Conflict}, {272, "MigrationConflict", Conflict}, {280, "ChangeStreamFatalError", 0},
	{286, "ChangeStreamHistoryLost", 0}, {391, "ReauthenticationRequired", 0},
	{CodeIngressRequestRateLimit, "IngressRequestRateLimitExceeded", 0},
	{CodeIngressOperationRateLimit, "IngressOperationRateLimitExceeded", 0},
	{CodeInterruptedDueToOverload, "InterruptedDueToOverload", 0}, {9001, "SocketException", Retriable},
	{CodeNotWritablePrimary, "NotWritablePrimary", Retriable}, {11000, "DuplicateKey", 0},
	{CodeInterruptedAtShutdown, "InterruptedAtShutdown", Retriable}, {11601, "Interrupted", 0},
	{CodeInterruptedByStateChange, "InterruptedDueToReplStateChange", Retriable}, {13388, "StaleConfig", Conflict},
	{CodeNotPrimaryNoSecondaryOk, "NotPrimaryNoSecondaryOk", Retriable},
	{CodeNotPrimaryOrSecondary, "NotPrimaryOrSecondary", Retriable},
}

func find(number int32) (code, bool) {
	for _, known := range codes {
		if known.code == number {
			return known, true
		}
	}
	return code{}, false
}

// CodeName returns a code's name. Like a server, it derives the name of an unnamed code from the code.
func CodeName(code int32) string {
	if known, ok := find(code); ok {
		return known.name
	}
	return fmt.Sprintf("Location%d", code)
}

// IsA reports whether a code is of that class.
func IsA(code int32, class Class) bool {
	known, _ := find(code)
	return known.class&class != 0
}
