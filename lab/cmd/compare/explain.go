package main

import (
	"slices"
	"time"

	"mongofork/lab/virtual/trial"
)

// moment is within what time two lines are at one instant.
const moment = 2 * time.Microsecond

// explain finds the reasons for the differences between two traces, or the first one without a reason.
func explain(plan trial.Plan, up, fork trial.Trace) (v verdict) {
	for group := range trial.Instants(plan, up, fork, plan.Turns()+moment) {
		apart := time.Duration(-1)
		var open []trial.Instant
		for _, i := range group {
			reason := trial.Reason(&i)
			switch {
			case reason == nil:
				open = append(open, i)
				continue
			case reason.Apart && i.Strays():
				return verdict{finding: different, detail: "goes on, and fails: " + reason.Row + "\n" + i.String()}
			case reason.Apart:
				apart = i.At
			}
			v.reasons = append(v.reasons, reason.Row)
		}
		for _, i := range open {
			if apart < 0 || !i.Follows() {
				return verdict{finding: different, detail: i.String()}
			}
		}
		if apart >= 0 {
			v.finding, v.detail = later(plan, up, fork, apart)
			break
		}
	}
	slices.Sort(v.reasons)
	v.reasons = slices.Compact(v.reasons)
	return v
}
