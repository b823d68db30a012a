package retry

// Execution is the retry state of one command: "execute_command_retryable" in the specification's pseudocode, without the
// sending. A command sent in several batches has one Execution per batch. It is not safe for concurrent use.
type Execution struct {
	policy         *Policy
	kind           Kind
	readWriteLimit Limit

	attempt int   // failed attempts that were or will be retried, under any policy
	limit   Limit // the policy's MaxRetries from the first retryable overload error on
	retries bool  // an attempt that was sent has failed: what is sent from now on are retries
}

// First reports whether no attempt has failed yet.
func (e *Execution) First() bool { return e.attempt == 0 }

// Succeeded records the success of an attempt, which ends the execution.
func (e *Execution) Succeeded() {
	switch {
	case e.policy == nil:
	case e.retries:
		e.policy.Bucket.deposit(retrySuccessReturn)
	default:
		e.policy.Bucket.deposit(successReturn)
	}
}

// Failed records the failure of an attempt and decides about a retry.
func (e *Execution) Failed(f Failure) Verdict {
	if f.OutOfTime {
		return Verdict{Reason: ContextDone}
	}
	if f.Refused {
		return e.refused(f)
	}
	if e.policy != nil && !f.Overload && e.retries {
		// A server that fails a retry for another reason is healthy enough to handle requests.
		e.policy.Bucket.deposit(retryReturn)
	}
	e.retries = true
	return e.decide(f)
}

// refused is Failed for an attempt that was not sent. It cost the servers nothing, so the token bucket knows nothing of it: it costs
// no token, and what is sent after it is the first attempt unless one was sent before.
func (e *Execution) refused(f Failure) Verdict {
	verdict := e.decide(f)
	if verdict.Reason != ContextDone {
		verdict.Reason = Throttled
	}
	return verdict
}

// decide decides about a retry. The checks follow the specification's order: labels and options, limit, deadline, and the token
// bucket last, so that no other refusal costs a token.
func (e *Execution) decide(f Failure) Verdict {
	overload := e.policy != nil && f.Overload
	if reason := e.refusal(f, overload); reason != "" {
		return Verdict{Reason: reason}
	}

	e.attempt++
	if overload {
		e.limit = e.policy.MaxRetries
	}
	if Limit(e.attempt) > e.limit {
		return Verdict{Reason: LimitReached}
	}
	if f.Interrupted {
		return Verdict{Reason: ContextDone}
	}
	if !overload {
		return Verdict{Retry: true, Reason: RetryableReadWrite}
	}

	if f.ContextDone && f.Remaining <= 0 {
		return Verdict{Reason: ContextDone}
	}
	first := e.policy.FirstBackoff
	if f.FirstBackoff > 0 {
		first = f.FirstBackoff
	}
	backoff := Backoff(first, e.attempt, e.policy.Jitter())
	switch {
	case backoff <= f.Remaining:
	case f.ContextDone:
		return Verdict{Reason: ContextDone}
	default:
		return Verdict{Reason: DeadlineTooClose}
	}
	if f.Refused {
		return Verdict{Retry: true, Backoff: backoff, Reason: Throttled}
	}
	if e.policy.Bucket.keepsFrom(f.Criticality) {
		return Verdict{Reason: BucketEmpty}
	}
	if !e.policy.Bucket.consume() {
		return Verdict{Reason: BucketEmpty}
	}
	return Verdict{Retry: true, Backoff: backoff, Reason: Overloaded}
}

// refusal returns why no policy covers the failure, or nothing if one does.
func (e *Execution) refusal(f Failure, overload bool) Reason {
	switch {
	case f.ReadWrite && e.readWriteLimit != Never:
		return ""
	case !overload && e.policy != nil && f.ReadWriteOff && !e.policy.permits(e.kind):
		return OptionOff
	case !overload:
		return NotRetryable
	case e.kind == CleanUp:
		return NotRetryable
	case !f.Retryable:
		return LabelMissing
	case !e.policy.permits(e.kind):
		return OptionOff
	default:
		return ""
	}
}
