package event

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
)

// RetryReason says why a command was retried or not.
type RetryReason string

// The reasons of retry events. The first two are reasons for a retry, the others are for no retry.
const (
	// RetryReasonOverloaded: the server rejected the command because it is overloaded.
	RetryReasonOverloaded = RetryReason(retry.Overloaded)
	// RetryReasonRetryable: the Retryable Reads or Retryable Writes specification covers the error.
	RetryReasonRetryable = RetryReason(retry.RetryableReadWrite)

	// RetryReasonNotRetryable: no policy covers the error, or none covers it for this command.
	RetryReasonNotRetryable = RetryReason(retry.NotRetryable)
	// RetryReasonLabelMissing: the error has the label SystemOverloadedError but not RetryableError, so the server may have
	// executed part of the command.
	RetryReasonLabelMissing = RetryReason(retry.LabelMissing)
	// RetryReasonOptionOff: retryReads or retryWrites is off. A command of unknown kind, such as runCommand, needs both.
	RetryReasonOptionOff = RetryReason(retry.OptionOff)
	// RetryReasonLimit: the command has used up its retries.
	RetryReasonLimit = RetryReason(retry.LimitReached)
	// RetryReasonDeadline: the backoff would have passed the operation's deadline.
	RetryReasonDeadline = RetryReason(retry.DeadlineTooClose)
	// RetryReasonBucketEmpty: the client has adaptiveRetries, and no token was left.
	RetryReasonBucketEmpty = RetryReason(retry.BucketEmpty)
	// RetryReasonContextDone: the operation's context was cancelled or timed out during an attempt or a backoff.
	RetryReasonContextDone = RetryReason(retry.ContextDone)
	// RetryReasonDisconnected: the client was disconnected during an attempt or a backoff.
	RetryReasonDisconnected = RetryReason(retry.Disconnected)
)

// RetryReasonThrottled is the reason for a retry, or for none: the client has adaptiveThrottling and withheld the attempt, because the
// server would most likely have rejected it. The attempt has no command events, and its Failure is named Throttled. There is a retry,
// unless the overload lasts. If anything else forbids one, such as the limit, the deadline or an option, that is the reason.
const RetryReasonThrottled RetryReason = "throttled"

// RetryReasonOverloadLasts is the reason for no retry: the client does not set adaptiveThrottling, and the overload has lasted long
// enough for retries to have become load. The server accepts so little that the retry would only have taken the place of another command,
// so it was not sent, and the command ends with the server's error. The attempt has no command events, and its Failure, named Throttled,
// has the share that the server accepts. More retries would make the overload worse: reduce the load, or set adaptiveThrottling.
const RetryReasonOverloadLasts RetryReason = "overloadLasts" // as the throttle, which can be left out, calls it

// RetryDecidedEvent represents an event generated when an attempt to execute a command failed and the driver decided
// whether to make another.
type RetryDecidedEvent struct {
	CommandName  string
	DatabaseName string
	// OperationID is the same for all attempts and batches of an operation. It is the RequestID of its first attempt.
	OperationID int64
	// RequestID is that of the failed attempt, as in its CommandStartedEvent and CommandFailedEvent.
	RequestID int64
	// Attempt is the number of the failed attempt, from 1. Each batch of a write is a separate command and starts at 1.
	Attempt int
	// ServerAddress is the server of the failed attempt. It is empty if no server was selected, or if there was no connection for
	// a reason other than overload.
	ServerAddress address.Address
	// Failure is the error of the attempt. It has the error's labels, see mongo.LabeledError.
	Failure error
	// WillRetry is whether another attempt follows, after the Backoff. The Reason is one of the RetryReason constants.
	// After an error other than overload there is a backoff only if a limit of the client itself, such as that of open files,
	// left it without a connection.
	WillRetry bool
	Backoff   time.Duration
	Reason    RetryReason
	// Tokens is the number of tokens that the client had left after the decision, from 0 to 1000. It is nil without
	// adaptiveRetries.
	Tokens *float64
	// Criticality is the class of the operation, see mongo.NewCriticalityContext.
	Criticality Criticality
}

// RetryFinishedEvent represents an event generated when an operation ends for which a RetryDecidedEvent announced a retry.
type RetryFinishedEvent struct {
	CommandName  string
	DatabaseName string
	// OperationID is that of the operation's RetryDecidedEvents.
	OperationID int64
	// Attempts is the number of attempts, of which Retries were retries. They differ by 1, or for an operation sent in batches by
	// the number of batches.
	Attempts int
	Retries  int
	// Backoff is the time spent waiting before retries.
	Backoff time.Duration
	// Failure is the error of the operation, or nil if it succeeded.
	Failure error
	// Reason is why there was no further retry, one of the RetryReason constants. It is empty if the server executed the
	// last command, even if with write errors.
	Reason RetryReason
	// Tokens is the number of tokens that the client has left, from 0 to 1000. It is nil without adaptiveRetries.
	Tokens *float64
	// Throttled is the number of attempts that were withheld, see SetAdaptiveThrottling.
	Throttled int
	// Criticality is that of the operation's RetryDecidedEvents.
	Criticality Criticality
}

// RetryMonitor represents a monitor that is triggered by the driver's decisions about retries, under all policies. The operation
// calls its functions synchronously, with its context but without its session; they must be safe for concurrent use. They may run
// commands on the same client, because the operation holds no connection meanwhile, except one to which a cursor or a transaction
// behind a load balancer is pinned. The overloaded server may reject these commands as well, which is decided about in turn: a
// monitor that answers each decision with a command does not end before the overload does.
//
// Commands that monitor servers, establish connections or authenticate generate no events.
type RetryMonitor struct {
	Decided  func(context.Context, *RetryDecidedEvent)
	Finished func(context.Context, *RetryFinishedEvent)
}
