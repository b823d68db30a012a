package main

import (
	"fmt"
	"slices"
	"strings"

	"mongofork/lab/virtual/trial"
)

// runs is how often a plan runs with each driver if one run shows a difference: what a driver does may be by chance, as backoffs are.
const runs = 15

// pair runs plans with both drivers.
type pair struct{ drivers [2]*driver }

func (p *pair) close() {
	for _, d := range p.drivers {
		d.close()
	}
}

// verdict is what a plan shows: nothing, a difference with reasons, or a finding.
type verdict struct {
	reasons         []string
	finding, detail string
}

const (
	different = "the traces differ"
	seldom    = "the traces differ in some runs"
	inexact   = "(the plan is not exact: rates agree)"
	crashes   = "the fork crashes, or does not end"
)

// judge compares the drivers by a plan. What one run shows counts if more do.
func (p *pair) judge(plan trial.Plan) verdict {
	forks := 1
	if len(plan.Faults) > 0 && !plan.Varies() && !plan.Free() {
		forks = 2 // it may do something else now and then
	}
	o := order{Plan: plan}
	if v := compared(plan, p.runs(0, 1, o), p.runs(1, forks, o)); v.finding == "" || v.finding == crashes {
		return v
	}
	o.Lines = true
	v := compared(plan, p.runs(0, runs, o), p.runs(1, runs, o))
	if v.finding == seldom { // by chance, of many plans
		v = compared(plan, p.runs(0, 3*runs, o), p.runs(1, 3*runs, o))
	}
	return v
}

// runs runs a plan with a driver. Where the drivers draw what they do, they draw something else in each run.
func (p *pair) runs(driver, times int, o order) (t traces) {
	for n := range uint64(times) {
		if o.Plan.Varies() {
			o.Salt, o.Lines = n, false
		}
		t = append(t, p.drivers[driver].run(o))
	}
	return t
}

// compared compares runs of a plan: by the rules if the drivers need not do the same, and else by the traces.
func compared(plan trial.Plan, up, fork traces) verdict {
	if v, crashed := crash(up, fork); crashed {
		return v
	}
	if rule, detail := broken(plan, up, fork); rule != "" {
		return verdict{finding: rule, detail: detail}
	}
	exact := up.exact() && fork.exact()
	switch {
	case plan.Varies(), plan.Free(), exact && up[0].Digest == fork[0].Digest:
		return verdict{}
	case len(up) < runs: // without lines, which tell why
		return verdict{finding: different}
	case exact:
		return explain(plan, up[0], fork[0])
	}
	return rates(plan, up, fork)
}

// rates compares how often which trace occurs where not all runs have the same: a trace of the fork's must not occur more often than those
// of upstream that it agrees with, but for reasons. So what one driver does half of the time, and the other always, is a difference.
func rates(plan trial.Plan, up, fork traces) verdict {
	var alone traces
	for _, f := range fork.byDigest() {
		partners := 0
		for _, u := range up.byDigest() {
			if explain(plan, u[0], f[0]).finding == "" {
				partners += len(u)
			}
		}
		alone = append(alone, f[min(partners, len(f)):]...)
	}
	allowed := 0
	if !up.exact() {
		allowed = len(fork) / 3 // by chance; between two drivers that vary in the same way there are seldom so many
	}
	if len(alone) <= allowed {
		return verdict{reasons: []string{inexact}}
	}
	return verdict{finding: seldom, detail: fmt.Sprintf("%d of %d runs of the fork have no counterpart, such as\n%s",
		len(alone), len(fork), explain(plan, up[0], alone[0]).detail)}
}

// byDigest groups the traces that are the same.
func (t traces) byDigest() map[string]traces {
	groups := map[string]traces{}
	for _, one := range t {
		groups[one.Digest] = append(groups[one.Digest], one)
	}
	return groups
}

// exact reports whether all runs have the same trace.
func (t traces) exact() bool { return len(t.byDigest()) == 1 }

// crash reports whether a run has no trace.
func crash(up, fork traces) (v verdict, crashed bool) {
	stays := func(t trial.Trace) bool { return strings.HasPrefix(t.Crash, stuck) }
	for _, t := range fork {
		if t.Crash != "" && !(stays(t) && up.any(stays)) {
			return verdict{finding: crashes, detail: t.Crash}, true
		}
	}
	if up.any(func(t trial.Trace) bool { return t.Crash != "" }) {
		return verdict{reasons: []string{"(upstream crashes, or does not end)"}}, true
	}
	return v, false
}

// traces are those of a plan's runs with one driver.
type traces []trial.Trace

func (t traces) any(is func(trial.Trace) bool) bool { return slices.ContainsFunc(t, is) }

func (t traces) all(is func(trial.Trace) bool) bool {
	return !slices.ContainsFunc(t, func(t trial.Trace) bool { return !is(t) })
}

// reached returns what is reached by all runs but so many.
func (t traces) reached(of func(trial.Trace) int, but int) int {
	var numbers []int
	for _, one := range t {
		numbers = append(numbers, of(one))
	}
	slices.Sort(numbers)
	return numbers[but]
}

func (t traces) least(of func(trial.Trace) int) int { return t.reached(of, 0) }
func (t traces) most(of func(trial.Trace) int) int  { return t.reached(of, len(t)-1) }

// often is what more than a third of the runs reach.
func (t traces) often(of func(trial.Trace) int) int { return t.reached(of, len(t)-1-len(t)/3) }
