package main

import (
	"math"
	"regexp"
	"slices"
	"strings"
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

// later compares the calls that begin after the drivers have gone apart, where both find the same: the commands that these start, and how
// they end, whenever that is.
func later(plan trial.Plan, up, fork trial.Trace, apart time.Duration) (finding, detail string) {
	for n := range min(len(up.Outcomes), len(fork.Outcomes)) {
		u, f := up.Outcomes[n], fork.Outcomes[n]
		if min(u.Start, f.Start) <= apart+plan.Turns() || plan.Hurries(u.Call) || !settled(plan, up, fork, u.Start, f.Start) {
			continue
		}
		same := len(plan.Workers()) == 1 && up.Well(n) && fork.Well(n)
		a, b := asked(plan, up, u, same), asked(plan, fork, f, same)
		up, fork := up, fork
		up.Lines, fork.Lines = a, b
		for group := range trial.Instants(plan, up, fork, math.MaxInt64/2) {
			if trial.Reason(&group[0]) == nil {
				return different, "after the drivers go apart, " + group[0].String()
			}
		}
	}
	return "", ""
}

// numbers are those of sessions, transactions, cursors and events, of which either driver may have had more, and times of the cluster.
var numbers = regexp.MustCompile(`(lsid|txnNumber|\$clusterTime|getMore|cursors|"next"): (\d+|\[?\{[^}]*\}+\]?)`)

// took is how long a command took.
var took = regexp.MustCompile(` in \S+$`)

// asked returns the lines of a call without their time, and without its result if the calls before it may have done something else.
func asked(plan trial.Plan, t trial.Trace, o trial.Outcome, same bool) (lines []trial.Line) {
	for _, l := range t.Lines {
		if l.Call != o.ID {
			continue
		}
		if !same && strings.HasPrefix(l.Text, "returns ") {
			l.Text = "returns something"
		}
		if plan.Has("readPreference=") { // of two secondaries
			l.Text = took.ReplaceAllString(strings.ReplaceAll(l.Text, "127.0.0.1:27019", "127.0.0.1:27018"), "")
		}
		lines = append(lines, trial.Line{Call: l.Call, Text: numbers.ReplaceAllString(l.Text, "$1")})
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
		// It is by chance who is chosen, and upstream forgets that a command begins a transaction; else all faults have to be over.
		if f.Host > 0 || f.Code == 391 || f.Times == 0 ||
			min(seen(up, f.On, atUp), seen(fork, f.On, atFork)) < f.Nth+f.Times-1 {
			return false
		}
	}
	return true
}

// seen returns how many commands of a name servers saw before a time.
func seen(t trial.Trace, name string, before time.Duration) (n int) {
	for _, l := range t.Lines {
		if l.At < before && strings.Contains(l.Text, " sees "+name+": ") {
			n++
		}
	}
	return n
}
