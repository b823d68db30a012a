package event

import "fmt"

// RetryReasonThrottled is the reason for a retry, or for none: the client has adaptiveThrottling and withheld the attempt, because the
// server would most likely have rejected it. The attempt has no command events, and its Failure is named Throttled. There is a retry,
// unless the overload lasts. If anything else forbids one, such as the limit, the deadline or an option, that is the reason.
const RetryReasonThrottled RetryReason = "throttled"

// RetryReasonOverloadLasts is the reason for no retry: the client does not set adaptiveThrottling, and the overload has lasted long
// enough for retries to have become load. The server accepts so little that the retry would only have taken the place of another command,
// so it was not sent, and the command ends with the server's error. The attempt has no command events, and its Failure, named Throttled,
// has the share that the server accepts. More retries would make the overload worse: reduce the load, or set adaptiveThrottling.
const RetryReasonOverloadLasts RetryReason = "overloadLasts"

// RetryDecidedEvent has the class of the operation.
//
//fork:extend what is withheld depends on the class
type RetryDecidedEvent struct {
	// Criticality is the class of the operation, see mongo.NewCriticalityContext.
	Criticality Criticality
}

// RetryFinishedEvent has the class of the operation, and how often it was withheld.
//
//fork:extend what is withheld depends on the class
type RetryFinishedEvent struct {
	// Throttled is the number of attempts that were withheld, see SetAdaptiveThrottling.
	Throttled int
	// Criticality is that of the operation's RetryDecidedEvents.
	Criticality Criticality
}

// RetryError has the class of the operation, and how often it was withheld.
//
//fork:extend what is withheld depends on the class
type RetryError struct {
	// Throttled is the number of attempts that were withheld, see SetAdaptiveThrottling.
	Throttled int
	// Criticality is the class of the operation.
	Criticality Criticality
}

// The message explains the reason overloadLasts.
//
//fork:wrap applications that set no option have not read about it
func (e *RetryError) Error() string {
	message := e.upstreamError()
	if e.Reason == RetryReasonOverloadLasts {
		message += ": the server accepts so little that a retry would only take the place of another command"
	}
	return message
}

// The message says how many attempts were withheld, if any were.
//
//fork:wrap not all of the attempts were sent
func (e *RetryError) attempts() string {
	attempts := e.upstreamAttempts()
	if e.Throttled > 0 {
		attempts += fmt.Sprintf(", %d of them withheld,", e.Throttled)
	}
	return attempts
}
