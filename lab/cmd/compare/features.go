package main

import (
	"math"
	"slices"
	"strings"
	"time"

	"mongofork/lab/virtual/trial"
)

// always are rules that the fork has to keep under any plan, whatever upstream does.
var always = []rule{
	{"a call panics", func(_ trial.Plan, _, fork traces) bool {
		return fork.oftenACall(func(_ int, o trial.Outcome) bool { return o.Panicked })
	}},
	{"far more processor time than upstream's", func(_ trial.Plan, up, fork traces) bool {
		busy := func(t trial.Trace) int { return int(t.Busy) }
		return fork.least(busy) > 10*up.most(busy)+int(300*time.Millisecond)
	}},
	{"a transaction waits too long before it begins again", func(plan trial.Plan, _, fork traces) bool {
		allowed, first := 20*time.Millisecond, 5*time.Millisecond
		if fork[0].Backoff > 100*time.Millisecond { // the newer specification's first is half as long again
			first += first / 2
		}
		for longest, n := first, plan.Conflicts(); n > 0; longest, n = min(longest*3/2, 500*time.Millisecond), n-1 {
			allowed += longest + roundTrip
		}
		return plan.Conflicts() > 0 && fork.inACall(1, func(_ int, o trial.Outcome) bool { return o.End-o.Start > allowed })
	}},
}

// outcomes are rules for what calls return, and events tell, under overload.
var outcomes = []rule{
	{"a call succeeds whose last attempt was rejected", func(_ trial.Plan, _, fork traces) bool {
		return fork.inACall(1, func(_ int, o trial.Outcome) bool { return o.Single() && o.OK() && o.Refused })
	}},
	{"a command's event has not exactly one counterpart", func(_ trial.Plan, _, fork traces) bool {
		return fork.any(func(t trial.Trace) bool { return t.Unpaired > 0 })
	}},
	{"a connection is not returned", func(_ trial.Plan, _, fork traces) bool {
		return fork.any(func(t trial.Trace) bool { return t.Held > 0 })
	}},
	{"a read returns what is not there", func(_ trial.Plan, _, fork traces) bool {
		return fork.inACall(1, func(_ int, o trial.Outcome) bool { return o.Wrong })
	}},
}

// features are rules for what plans may have beside calls and faults.
var features = []rule{
	{"the command of a monitor changes the result of its call", func(plan trial.Plan, up, fork traces) bool {
		return plan.OnlyMonitored() && fork.oftenACall(func(i int, o trial.Outcome) bool {
			return o.Deadline+o.Cancel == 0 &&
				up.all(func(t trial.Trace) bool { return i < len(t.Outcomes) && t.Outcomes[i].Error != o.Error })
		})
	}},
	{"a retry that would do is not made", func(plan trial.Plan, _, fork traces) bool {
		return (plan.OneRetry() || plan.Refuses()) && fork.oftenACall(func(_ int, o trial.Outcome) bool {
			return (o.Reads() || plan.Refuses() && o.Single()) && o.Deadline+o.Cancel == 0 && !o.OK()
		})
	}},
	{"a pool is cleared for an overload", func(plan trial.Plan, _, fork traces) bool {
		return plan.Refuses() && fork.any(func(t trial.Trace) bool { return t.Cleared > 0 })
	}},
	{"fewer retries than the limit allows", func(plan trial.Plan, _, fork traces) bool {
		return plan.Rejects() && fork.oftenACall(func(_ int, o trial.Outcome) bool {
			return o.Single() && o.Deadline+o.Cancel == 0 && o.Overloaded && !o.OK() && o.Attempts <= fork[0].Limit
		})
	}},
	{"a retry goes to the overloaded router again", func(plan trial.Plan, _, fork traces) bool {
		return plan.OneRouter() && fork.inACall(1, func(_ int, o trial.Outcome) bool { return o.Single() && o.Attempts > 2 })
	}},
	{"backoffs are not what they should be", func(plan trial.Plan, _, fork traces) bool {
		return plan.Rejects() && math.Abs(fork.backoffs()) > map[bool]float64{true: 5, false: 1}[len(fork) == runs]
	}},
	{"a write took place of which the error says that it did not", func(_ trial.Plan, _, fork traces) bool {
		return fork.inACall(1, func(_ int, o trial.Outcome) bool {
			return o.Single() && o.Done && strings.Contains(o.Error, "NoWritesPerformed")
		})
	}},
	{"the error does not say that the server is overloaded", func(plan trial.Plan, _, fork traces) bool {
		return plan.Reachable() && !plan.Has("timeoutMS") && fork.oftenACall(func(_ int, o trial.Outcome) bool {
			return o.Single() && o.Deadline+o.Cancel == 0 && o.Overloaded && !o.OK() &&
				!strings.Contains(o.Error, "SystemOverloadedError")
		})
	}},
}

// backoffs returns by how many standard deviations the sum of all backoffs of calls that had all retries is too long.
func (t traces) backoffs() float64 {
	var sum, variance float64
	for _, one := range t {
		for _, o := range one.Outcomes {
			if !o.Single() || o.OK() || !o.Overloaded || o.Deadline+o.Cancel > 0 || o.Attempts != one.Limit+1 {
				continue
			}
			sum += (o.End - o.Start).Seconds()
			// equally likely up to that
			for longest, n := one.Backoff.Seconds(), 0; n < one.Limit; longest, n = 2*longest, n+1 {
				sum, variance = sum-longest/2, variance+longest*longest/12
			}
		}
	}
	if variance == 0 {
		return 0
	}
	return sum / math.Sqrt(variance)
}

// brokenOf returns the first of some rules that the fork breaks, or nil.
func brokenOf(some []rule, plan trial.Plan, up, fork traces) *rule {
	i := slices.IndexFunc(some, func(r rule) bool { return r.broken(plan, up, fork) })
	if i < 0 {
		return nil
	}
	return &some[i]
}
