package retry

// HeldBack is an attempt that a Throttle held back: nothing was sent, and no server had any work.
const HeldBack = Late + 1

// Throttled is the reason for a retry of what was held back, and for none in an overload that lasts.
const Throttled Reason = "throttled"

// mostSpared is how many attempts of a command may be held back without counting to the limit, as nothing was sent.
const mostSpared = 5

// First reports whether no attempt has failed yet.
func (e *Execution) First() bool { return e.attempt+e.spared == 0 }

// heldBack decides about an attempt that was held back.
func (e *Execution) heldBack(f Failure) Verdict {
	if !f.Spared || e.spared == mostSpared || e.uncovered(f.Cause) != "" {
		return e.decide(f)
	}
	e.spared++
	f.Lasts = false
	return e.backOff(f, Backoff(BaseBackoff, e.spared, e.policy.Jitter()))
}

// Succeeded records the success of an attempt, which ends the execution.
func (e *Execution) Succeeded() {
	switch {
	case e.policy == nil:
	case e.sent:
		e.policy.Bucket.deposit(retrySuccessReturn)
	default:
		e.policy.Bucket.deposit(successReturn)
	}
}
