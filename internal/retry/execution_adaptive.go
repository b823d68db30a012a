package retry

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
