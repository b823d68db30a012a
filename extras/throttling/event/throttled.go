package event

import "fmt"

// RetryReasonThrottled is the reason of a retry, or for none: the client has adaptiveThrottling and held the attempt back, because the
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

// RetryFinishedEvent has the class of the operation, and how often it was held back.
//
//fork:extend what is withheld depends on the class
type RetryFinishedEvent struct {
	// Throttled is the number of attempts that adaptiveThrottling held back.
	Throttled int
	// Criticality is that of the operation's RetryDecidedEvents.
	Criticality Criticality
}

// RetryError has the class of the operation, and how often it was held back.
//
//fork:extend what is withheld depends on the class
type RetryError struct {
	// Throttled is the number of attempts that adaptiveThrottling held back.
	Throttled int
	// Criticality is the class of the operation.
	Criticality Criticality
}

// How many attempts were held back stands in the message, if any were.
//
//fork:wrap not all of the attempts were sent
func (e *RetryError) attempts() string {
	attempts := e.upstreamAttempts()
	if e.Throttled > 0 {
		attempts += fmt.Sprintf(", %d of them held back,", e.Throttled)
	}
	return attempts
}
