package event

import "fmt"

// RetryReasonThrottled is the reason for a retry, or for none: the client has adaptiveThrottling and withheld the attempt, because the
// server would most likely have rejected it. The attempt has no command events, and its Failure is named Throttled. There is a retry,
// unless the overload lasts. If anything else forbids one, such as the limit, the deadline or an option, that is the reason.
const RetryReasonThrottled RetryReason = "throttled"

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
	// Throttled is the number of attempts that adaptiveThrottling withheld.
	Throttled int
	// Criticality is that of the operation's RetryDecidedEvents.
	Criticality Criticality
}

// RetryError has the class of the operation, and how often it was withheld.
//
//fork:extend what is withheld depends on the class
type RetryError struct {
	// Throttled is the number of attempts that adaptiveThrottling withheld.
	Throttled int
	// Criticality is the class of the operation.
	Criticality Criticality
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
