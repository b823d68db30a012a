package retry

import (
	"math"
	"time"
)

// NoDeadline is the time left for a backoff of an operation without a deadline.
const NoDeadline time.Duration = math.MaxInt64

// Failure describes a failed attempt to the policy.
type Failure struct {
	Cause Cause
	// TimeUp is whether the operation has ended: nothing is sent any more, even without a backoff.
	TimeUp bool
	// Left is the time left for a backoff, or NoDeadline.
	Left time.Duration
	// FirstBackoff, if positive, is the server's replacement for the policy's.
	FirstBackoff time.Duration
	// Reserve is how many tokens the command leaves in the bucket to others that are more critical.
	Reserve float64
}

// Cause is what failed an attempt, as far as it matters to the policy.
type Cause uint8

const (
	// Other is an error that no policy covers.
	Other Cause = iota
	// ReadWriteOff is an error that the Retryable Reads or Retryable Writes specification covers, if retryReads or retryWrites were on.
	ReadWriteOff
	// ReadWrite is an error that one of these specifications covers.
	ReadWrite
	// Unestablished is one of those after which there is no connection, although no overload is known.
	Unestablished
	// OwnLimit is one of those, too: the client itself can open no connection. A retry waits for one that is idle.
	OwnLimit
	// Unmarked is an error with the label SystemOverloadedError but not RetryableError.
	Unmarked
	// Overload is a retryable overload error.
	Overload
	// OverloadReadWrite is an error with the label SystemOverloadedError that one of the older specifications covers, too.
	OverloadReadWrite
	// Executed is an error that says that the server executed the command, with write errors. There is nothing to retry.
	Executed
)

// Rejected reports whether a server was overloaded.
func (c Cause) Rejected() bool { return c == Overload || c == OverloadReadWrite }

// Verdict is the decision after a failed attempt. If Retry is false, return the error.
type Verdict struct {
	Retry   bool
	Backoff time.Duration // the wait before a retry, if a server was overloaded or the client at a limit of its own
	Reason  Reason
}

// Reason explains a Verdict, to people. It is empty if there was nothing to decide.
type Reason string

// The reasons for a retry.
const (
	Overloaded         Reason = "overloaded"
	RetryableReadWrite Reason = "retryable"
)

// The reasons for no retry.
const (
	NotRetryable     Reason = "notRetryable"
	LabelMissing     Reason = "labelMissing"
	OptionOff        Reason = "optionOff"
	LimitReached     Reason = "limit"
	DeadlineTooClose Reason = "deadline"
	ContextDone      Reason = "contextDone" // a deadline that has passed, or a context that was cancelled: the caller knows which
	Disconnected     Reason = "disconnected"
)
