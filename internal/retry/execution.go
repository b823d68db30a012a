package retry

import "time"

// Execution is the retry state of one command: "execute_command_retryable" in the specification's pseudocode, without the
// sending. A command sent in several batches has one Execution per batch. It is not safe for concurrent use.
type Execution struct {
	policy *Policy
	kind   Kind

	attempt       int   // failed attempts that a policy covers
	unestablished int   // those among them for which no connection could be established
	limit         Limit // that of the older specifications, and the policy's MaxRetries from the first retryable overload error on
	retrying      bool  // an attempt has failed, other than by a limit of the client itself: those from now on are retries
	rejected      bool  // an attempt was rejected
}

// First reports whether no attempt was rejected or withheld yet. To the throttle, a retry of the older specifications is a first attempt
// until then.
func (e *Execution) First() bool { return !e.rejected }

// Failed records the failure of an attempt and decides about a retry.
func (e *Execution) Failed(f Failure) Verdict {
	if f.Cause == Executed {
		e.Succeeded()    // as far as the bucket is concerned
		return Verdict{} // without a reason: nothing was refused
	}
	if f.Cause == OwnLimit {
		return e.decide(f) // the cause says nothing of a server, and earns no token
	}
	if e.policy != nil && e.retrying && !f.Cause.Rejected() && f.Cause != Unmarked {
		// A server that fails a retry for another reason is healthy enough to handle requests.
		e.policy.Bucket.deposit(retryReturn)
	}
	e.retrying = true // only now: the failure of a first attempt earns nothing
	e.rejected = e.rejected || f.Cause.Rejected()
	return e.decide(f)
}

// decide decides about a retry. The checks follow the specification's order: labels and options, limit, deadline.
func (e *Execution) decide(f Failure) Verdict {
	if reason := e.uncovered(f.Cause); reason != "" {
		return Verdict{Reason: reason}
	}
	e.attempt++
	limited, backsOff := e.bound(f.Cause)
	switch {
	case limited || Limit(e.attempt) > e.limit:
		return Verdict{Reason: LimitReached}
	case f.TimeUp || (backsOff && f.Left <= 0): // even if the jitter is 0
		return Verdict{Reason: DeadlineTooClose}
	case !backsOff:
		return Verdict{Retry: true, Reason: RetryableReadWrite}
	}

	first := e.policy.FirstBackoff
	if f.FirstBackoff > 0 {
		first = f.FirstBackoff
	}
	return e.backOff(f, Backoff(first, e.attempt, e.policy.Jitter()))
}

// backOff decides about a retry after a backoff. The token bucket is last, so that no other reason against a retry costs a token.
func (e *Execution) backOff(f Failure, backoff time.Duration) Verdict {
	switch {
	case backoff > f.Left:
		return Verdict{Reason: DeadlineTooClose}
	case f.Cause == OwnLimit: // no overload, so it costs no token
		return Verdict{Retry: true, Backoff: backoff, Reason: RetryableReadWrite}
	case e.policy.Bucket.consume(f.Reserve):
		return Verdict{Retry: true, Backoff: backoff, Reason: Overloaded}
	default:
		return Verdict{Reason: BucketEmpty}
	}
}

// bound counts a failure towards the limit of its cause. It reports whether there were too many, and whether there is a backoff.
//
// Under a timeout, the older specifications retry without a limit and at once. Where each retry opens another connection in vain, that
// would be hundreds in a second, so these have a limit. A client at a limit of its own waits: a connection may become idle.
func (e *Execution) bound(cause Cause) (limited, backsOff bool) {
	switch {
	case cause == Unestablished || cause == OwnLimit && e.policy == nil: // without a policy there is no backoff
		e.unestablished++
		return e.unestablished > int(Once), false
	case e.policy == nil || cause == ReadWrite:
		return false, false
	case cause == OwnLimit:
		return false, true
	default:
		e.limit = e.policy.MaxRetries // also if it was Unlimited ("Interaction with Other Retry Policies")
		return false, true
	}
}

// uncovered returns why no policy covers the cause, or nothing if one does.
func (e *Execution) uncovered(cause Cause) Reason {
	switch {
	case cause == ReadWrite || cause == Unestablished || cause == OwnLimit || cause == OverloadReadWrite:
		return "" // who classified it has asked the options
	case cause == Other || e.policy == nil || e.kind == CleanUp:
		return NotRetryable
	case cause == Unmarked:
		return LabelMissing
	case e.policy.permits(e.kind):
		if cause == ReadWriteOff { // the option is on, but never covers this command, such as updateMany
			return NotRetryable
		}
		return ""
	default:
		return OptionOff
	}
}
