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
	width := plan.Turns() + moment
	a, b := without(up.Lines, fork.Lines, width), without(fork.Lines, up.Lines, width)
	for len(a)+len(b) > 0 && v.finding == "" {
		at := first(a, b)
		var nowA, nowB []trial.Line
		nowA, a = until(a, at+width)
		nowB, b = until(b, at+width)
		apart := false
		var open []trial.Instant
		for _, i := range instantsOf(plan, up, fork, nowA, nowB, at, width) {
			reason := trial.Reason(&i)
			if reason == nil {
				open = append(open, i)
				continue
			}
			v.reasons, apart = append(v.reasons, reason.Row), apart || reason.Apart
			if reason.Apart && i.Strays() {
				return verdict{finding: different, detail: "goes on, and fails: " + reason.Row + "\n" + i.String()}
			}
		}
		for _, i := range open {
			if !apart || !i.Follows() {
				return verdict{finding: different, detail: i.String()}
			}
		}
		if apart {
			v.finding, v.detail = later(plan, up, fork, at)
			break
		}
	}
	slices.Sort(v.reasons)
	v.reasons = slices.Compact(v.reasons)
	return v
}

// instantsOf returns an instant for each call of which lines are different then.
func instantsOf(plan trial.Plan, up, fork trial.Trace, onlyUp, onlyFork []trial.Line, at, width time.Duration) (all []trial.Instant) {
	calls := map[int]bool{}
	for _, l := range slices.Concat(onlyUp, onlyFork) {
		if !calls[l.Call] {
			calls[l.Call] = true
			all = append(all, trial.At(plan, l.Call, at, width, up, fork, onlyUp, onlyFork))
		}
	}
	return all
}

// first returns the time of the first line.
func first(a, b []trial.Line) time.Duration {
	switch {
	case len(a) == 0:
		return b[0].At
	case len(b) == 0:
		return a[0].At
	}
	return min(a[0].At, b[0].At)
}

// until returns the lines until a time, and the others.
func until(lines []trial.Line, at time.Duration) (now, rest []trial.Line) {
	n := 0
	for n < len(lines) && lines[n].At <= at {
		n++
	}
	return lines[:n], lines[n:]
}

// without returns the lines that others have not, or not as often, at times that are so far apart at most.
func without(lines, others []trial.Line, apart time.Duration) (rest []trial.Line) {
	used, from := make([]bool, len(others)), 0
	for _, l := range lines {
		if l.Aside() {
			continue
		}
		for from < len(others) && others[from].At < l.At-apart {
			from++
		}
		found := -1
		for n := from; n < len(others) && others[n].At <= l.At+apart && found < 0; n++ {
			if !used[n] && others[n].Call == l.Call && others[n].Text == l.Text {
				found = n
			}
		}
		if found < 0 {
			rest = append(rest, l)
		} else {
			used[found] = true
		}
	}
	return rest
}
