package retry

import (
	"math"
	"time"
)

// NoDeadline is the Remaining time of an operation without a deadline.
const NoDeadline time.Duration = math.MaxInt64

// Failure describes a failed attempt to the policy.
type Failure struct {
	// Overload is whether the error has the label SystemOverloadedError.
	Overload bool
	// Retryable is whether the error has the label RetryableError. Together with Overload it makes the error a retryable overload
	// error.
	Retryable bool
	// ReadWrite is whether the error is retryable under the Retryable Reads or Retryable Writes specification.
	ReadWrite bool
	// Refused is whether a Throttle refused the attempt: nothing was sent, and no server had any work. Overload and Retryable
	// have to be set as well.
	Refused bool
	// FirstBackoff, if positive, is the server's replacement for the policy's.
	FirstBackoff time.Duration
	// ReadWriteOff is whether those specifications would retry if retryReads or retryWrites were on. It explains a refusal and
	// changes none.
	ReadWriteOff bool
	// Remaining is the time until the deadline of the operation or its caller, or NoDeadline.
	Remaining time.Duration
	// ContextDone is whether nobody waits for a retry any longer.
	ContextDone bool
}

// Verdict is the decision after a failed attempt. If Retry is false, return the error.
type Verdict struct {
	Retry   bool
	Backoff time.Duration // the wait before the retry; positive only after an overload error
	Reason  Reason
}

// Reason explains a Verdict.
type Reason uint8

const (
	// Overloaded is the reason for a retry after an overload error.
	Overloaded Reason = iota + 1
	// Throttled is the reason for a retry after an attempt that was not sent.
	Throttled
	// RetryableReadWrite is the reason for a retry under only the Retryable Reads or Retryable Writes specification.
	RetryableReadWrite
	// NotRetryable refuses a retry because no policy covers the error.
	NotRetryable
	// LabelMissing refuses a retry because the overload error lacks the label RetryableError.
	LabelMissing
	// OptionOff refuses a retry because retryReads or retryWrites is off.
	OptionOff
	// LimitReached refuses a retry because the command has used up its retries.
	LimitReached
	// DeadlineTooClose refuses a retry because its backoff would pass the operation's deadline.
	DeadlineTooClose
	// BucketEmpty refuses a retry because the client's token bucket holds no token for it.
	BucketEmpty
	// ContextDone refuses a retry because nobody waits for it any longer.
	ContextDone
)

// String returns the reason in words, for logs.
func (r Reason) String() string {
	switch r {
	case Overloaded:
		return "server overloaded"
	case Throttled:
		return "not sent to an overloaded server"
	case RetryableReadWrite:
		return "retryable read or write"
	case NotRetryable:
		return "error is not retryable"
	case LabelMissing:
		return "overload error is not labelled retryable"
	case OptionOff:
		return "retryReads or retryWrites is off"
	case LimitReached:
		return "limit of retries reached"
	case DeadlineTooClose:
		return "backoff would pass the deadline"
	case BucketEmpty:
		return "token bucket is empty"
	case ContextDone:
		return "context is done"
	default:
		return "unknown"
	}
}
