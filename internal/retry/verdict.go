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
	// Criticality is the class of the command.
	Criticality Criticality
	// FirstBackoff, if positive, is the server's replacement for the policy's.
	FirstBackoff time.Duration
	// ReadWriteOff is whether those specifications would retry if retryReads or retryWrites were on. It explains a refusal and
	// changes none.
	ReadWriteOff bool
	// Remaining is the time left for a backoff, or NoDeadline.
	Remaining time.Duration
	// ContextDone is whether nobody waits for a retry any longer. After an overload error there is none then, unless time Remains.
	ContextDone bool
	// Interrupted is whether that ended the attempt. There is no retry then.
	Interrupted bool
	// OutOfTime is whether the attempt was not made for that reason, after another had failed. It is no failure to decide about.
	OutOfTime bool
}

// Verdict is the decision after a failed attempt. If Retry is false, return the error.
type Verdict struct {
	Retry   bool
	Backoff time.Duration // the wait before the retry; positive only after an overload error
	Reason  Reason
}

// Reason explains a Verdict. Events, errors and logs show it as it is; package event documents each.
type Reason string

// The reasons for a retry.
const (
	Overloaded         Reason = "overloaded"
	Throttled          Reason = "throttled" // also for no retry of an attempt that was not sent
	RetryableReadWrite Reason = "retryable"
)

// The reasons for no retry.
const (
	NotRetryable     Reason = "notRetryable"
	LabelMissing     Reason = "labelMissing"
	OptionOff        Reason = "optionOff"
	LimitReached     Reason = "limit"
	DeadlineTooClose Reason = "deadline"
	BucketEmpty      Reason = "bucketEmpty"
	ContextDone      Reason = "contextDone"
)
