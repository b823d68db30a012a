package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mongofork/lab/virtual/trial"
)

// later compares the calls that begin after the drivers have gone apart, where both find the same: the commands that these start, and how
// they end, whenever that is.
func later(plan trial.Plan, up, fork trial.Trace, apart time.Duration) (finding, detail string) {
	for i := range min(len(up.Outcomes), len(fork.Outcomes)) {
		u, f := up.Outcomes[i], fork.Outcomes[i]
		// How often a transaction begins again in two minutes is by chance.
		chance := u.Kind == "withTransaction" && min(u.End-u.Start, f.End-f.Start) > time.Minute
		if chance || min(u.Start, f.Start) <= apart+plan.Turns() || plan.Hurries(u.Call) ||
			!settled(plan, up, fork, u.Start, f.Start) {
			continue
		}
		same := len(plan.Workers()) == 1 && up.Well(i) && fork.Well(i)
		a, b := asked(plan, up, u, same), asked(plan, fork, f, same)
		onlyA, onlyB := without(a, b), without(b, a)
		here := trial.Instant{Plan: plan, At: u.Start, Upstream: onlyA, Fork: onlyB, All: slices.Concat(a, b),
			Before: slices.Concat(up.Lines, fork.Lines), ForkOn: b, UpstreamOn: a, Under: map[int]trial.Call{1: u.Call}}
		if len(onlyA)+len(onlyB) == 0 || trial.Reason(here) != nil {
			continue
		}
		return different, fmt.Sprintf("call %d, after the drivers go apart at %v:\n%s", u.ID, apart, only(onlyA, onlyB))
	}
	return "", ""
}

// asked returns the lines of a call, without its result if the calls before it may have done something else. Which router it meets is by
// chance.
func asked(plan trial.Plan, t trial.Trace, o trial.Outcome, same bool) []string {
	lines := slices.DeleteFunc(t.Of(o.ID), func(line string) bool { return !same && strings.Contains(line, " returns ") })
	if plan.Topology == "sharded:2" {
		for n := range lines {
			lines[n] = strings.ReplaceAll(lines[n], "127.0.0.1:27018", "127.0.0.1:27017")
		}
	}
	return lines
}

// settled reports whether the plan's faults do the same to both drivers from these times on.
func settled(plan trial.Plan, up, fork trial.Trace, atUp, atFork time.Duration) bool {
	for _, f := range plan.Faults {
		if f.On == "" {
			if min(atUp, atFork) < f.At+f.For+time.Second {
				return false
			}
			continue
		}
		if f.Host > 0 || f.Code == 391 {
			return false // it is by chance who is chosen; upstream forgets that a command begins a transaction
		}
		a, b := seen(up, f.On, atUp), seen(fork, f.On, atFork)
		last := f.Nth + f.Times*max(1, f.Every)
		if (a != b || len(plan.Workers()) > 1) && min(a, b) < last || f.Times == 0 && max(a, b) >= f.Nth {
			return false
		}
	}
	return true
}

// seen returns how many commands of a name servers saw before a time.
func seen(t trial.Trace, name string, before time.Duration) (n int) {
	for _, line := range t.Lines {
		if trial.At(line) < before && strings.Contains(line, " sees "+name+": ") {
			n++
		}
	}
	return n
}
