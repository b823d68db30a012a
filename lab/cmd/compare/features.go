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
	{"far more processor time than upstream's", func(plan trial.Plan, up, fork traces) bool {
		busy := func(t trial.Trace) int { return int(t.Busy) }
		return !plan.Endless() && fork.least(busy) > 10*up.most(busy)+int(300*time.Millisecond)
	}},
	{"a pool is ready before its server is known", func(plan trial.Plan, _, fork traces) bool {
		return !plan.Proxied() && fork.any(func(t trial.Trace) bool { return t.Early > 0 })
	}},
	{"a command is of a transaction that has not been started", func(plan trial.Plan, _, fork traces) bool {
		return plan.Monitor.Asks == 0 && fork.any(func(t trial.Trace) bool { return t.Unstarted > 0 })
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
	{"a connection is not returned", func(_ trial.Plan, up, fork traces) bool {
		held := func(t trial.Trace) int { return t.Held }
		return fork.most(held) > up.most(held) // upstream keeps that of a cursor whose reply has a write concern error
	}},
	{"a read returns what is not there", func(_ trial.Plan, _, fork traces) bool {
		return fork.inACall(1, func(_ int, o trial.Outcome) bool { return o.Wrong })
	}},
}

// features are rules for what plans may have beside calls and faults.
var features = []rule{
	{"the command of a monitor changes the result of its call", func(plan trial.Plan, up, fork traces) bool {
		fails := plan.Proxied() && plan.Has("clientBulkWriteMany") // with upstream
		return plan.OnlyMonitored() && !fails && fork.oftenACall(func(i int, o trial.Outcome) bool {
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
		return plan.OneRouter() && fork.inACall(1, func(_ int, o trial.Outcome) bool {
			aborts := o.Kind == "abortedTransaction" && plan.Faults[0].On == "abortTransaction"
			return (o.Single() || aborts) && o.Attempts > 2
		})
	}},
	{"closing a cursor keeps its caller waiting", func(plan trial.Plan, up, fork traces) bool {
		took := func(o trial.Outcome) time.Duration { return o.End - o.Start }
		return plan.Closes() && fork.inACall(1, func(i int, o trial.Outcome) bool {
			return o.ReadsAll() && took(o) > up.longest(i, took)+roundTrip
		})
	}},
	{"backoffs are not what they should be", func(plan trial.Plan, _, fork traces) bool {
		allowed := map[bool]float64{true: 5, false: 1}[len(fork) == runs]
		return (plan.Rejects() || plan.Conflicts() > 0) && math.Abs(fork.backoffs(plan.Conflicts())) > allowed
	}},
	{"a write took place of which the error says that it did not", func(plan trial.Plan, _, fork traces) bool {
		return plan.Batch == 0 && fork.inACall(1, func(_ int, o trial.Outcome) bool {
			return o.Single() && o.Done && strings.Contains(o.Error, "NoWritesPerformed")
		})
	}},
	{"the error does not say that the server is overloaded", func(plan trial.Plan, _, fork traces) bool {
		return plan.Reachable() && !plan.Has("timeoutMS") && fork.oftenACall(func(_ int, o trial.Outcome) bool {
			return o.Single() && o.Deadline+o.Cancel == 0 && o.Overloaded && !o.OK() &&
				!strings.Contains(o.Error, "SystemOverloadedError") && !strings.Contains(o.Error, "the write concern fails")
		})
	}},
}

// backoffs returns by how many standard deviations the sum of all backoffs is too long, of calls that had all retries, or of
// transactions that had so many conflicts.
func (t traces) backoffs(conflicts int) float64 {
	var sum, variance float64
	for _, one := range t {
		for _, o := range one.Outcomes {
			longest, factor, n := one.Backoff.Seconds(), 2.0, one.Limit
			switch {
			case conflicts > 0: // the newer specification's first is half as long again
				longest, factor, n = 0.005, 1.5, conflicts
				if one.Backoff > 100*time.Millisecond {
					longest *= 1.5
				}
				sum -= (transactionTime + time.Duration(n)*conflictTime).Seconds()
			case !o.Single() || o.OK() || !o.Overloaded || o.Deadline+o.Cancel > 0 || o.Attempts != one.Limit+1:
				continue
			}
			sum += (o.End - o.Start).Seconds()
			for ; n > 0; n-- { // equally likely up to that
				sum, variance = sum-longest/2, variance+longest*longest/12
				longest *= factor
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
