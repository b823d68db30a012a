package main

import (
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
		return plan.OneRetry() && fork.oftenACall(func(_ int, o trial.Outcome) bool { return o.Reads() && !o.OK() })
	}},
	{"the error does not say that the server is overloaded", func(plan trial.Plan, _, fork traces) bool {
		return plan.Reachable() && !plan.Has("timeoutMS") && fork.oftenACall(func(_ int, o trial.Outcome) bool {
			return o.Single() && o.Deadline+o.Cancel == 0 && o.Overloaded && !o.OK() &&
				!strings.Contains(o.Error, "SystemOverloadedError")
		})
	}},
}

// brokenOf returns the first of some rules that the fork breaks, or nil.
func brokenOf(some []rule, plan trial.Plan, up, fork traces) *rule {
	i := slices.IndexFunc(some, func(r rule) bool { return r.broken(plan, up, fork) })
	if i < 0 {
		return nil
	}
	return &some[i]
}
