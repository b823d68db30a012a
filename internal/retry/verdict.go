package retry

import (
	"math"
	"time"
)

// NoDeadline is the Remaining time of a failure whose operation has no deadline.
const NoDeadline time.Duration = math.MaxInt64

// Failure is what the policy has to know of a failed attempt.
type Failure struct {
	// Overload says that the error has the label SystemOverloadedError.
	Overload bool
	// Retryable says that the error has the label RetryableError. Together with Overload it makes the error a retryable
	// overload error.
	Retryable bool
	// ReadWrite says that the error is retryable under the Retryable Reads or Retryable Writes specification.
	ReadWrite bool
	// Refused says that a Throttle refused the attempt: nothing was sent, and no server had any work. Overload and Retryable have
	// to be set as well.
	Refused bool
	// FirstBackoff, if it is positive, is what the server wants in the place of the policy's.
	FirstBackoff time.Duration
	// ReadWriteOff says that the error would be retryable under those specifications if retryReads or retryWrites were on.
	// It explains a refusal and changes none.
	ReadWriteOff bool
	// Remaining is the time until the deadline of the operation or of who waits for it, or NoDeadline.
	Remaining time.Duration
	// ContextDone says that nobody waits for a retry any more.
	ContextDone bool
}

// Verdict is what to do after a failed attempt. If Retry is false the error is to be returned.
type Verdict struct {
	Retry   bool
	Backoff time.Duration // to wait before the retry; only ever positive after an overload error
	Reason  Reason
}

// Reason explains a Verdict.
type Reason uint8

const (
	// Overloaded is the reason for a retry after an overload error.
	Overloaded Reason = iota + 1
	// Throttled is the reason for a retry after an attempt that was not sent.
	Throttled
	// RetryableReadWrite is the reason for a retry by the Retryable Reads or Retryable Writes specification alone.
	RetryableReadWrite
	// NotRetryable refuses a retry because no policy covers the error.
	NotRetryable
	// LabelMissing refuses a retry because the overload error lacks the label RetryableError.
	LabelMissing
	// OptionOff refuses a retry because retryReads or retryWrites is off.
	OptionOff
	// LimitReached refuses a retry because the command has been retried as often as it may be.
	LimitReached
	// DeadlineTooClose refuses a retry because its backoff would pass the operation's deadline.
	DeadlineTooClose
	// BucketEmpty refuses a retry because the client's token bucket holds no token for it.
	BucketEmpty
	// ContextDone refuses a retry because nobody waits for it any more.
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
