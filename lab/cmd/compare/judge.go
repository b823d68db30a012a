package main

import (
	"context"
	"fmt"
	"strings"

	"mongofork/lab/virtual/trial"
)

const (
	// runs is how often a plan with overload errors runs with each driver before a broken rule counts, as backoffs are random.
	runs = 15
	// few is how often a plan runs again with each driver to tell whether it is exact.
	few = 4
	// some and many are how often one that is not exact runs, to compare how often which trace occurs: many times if some say that it
	// differs.
	some, many = 15, 60
)

// pair runs plans with both drivers.
type pair struct{ drivers [2]*driver }

func newPair(ctx context.Context, programs [2]string) *pair {
	return &pair{[2]*driver{{ctx: ctx, program: programs[0]}, {ctx: ctx, program: programs[1]}}}
}

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

// judge compares the drivers by a plan.
func (p *pair) judge(plan trial.Plan) (v verdict) {
	if plan.Overloads() || plan.Conflicts() > 0 {
		return p.overloaded(plan)
	}
	// The fork has two runs where something goes wrong, as it may do something else now and then.
	o := order{Plan: plan}
	up := p.runs(0, 1, o)
	fork := p.runs(1, 1, o)
	if v, crashed := crash(up, fork); crashed {
		return v
	}
	if len(plan.Faults) > 0 {
		fork = append(fork, p.runs(1, 1, o)...)
	}
	if r := brokenOf(always, plan, up, fork); r != nil {
		return verdict{finding: r.text, detail: ends(up, fork)}
	}
	if up.exact() && fork.exact() && up[0].Digest == fork[0].Digest {
		return verdict{}
	}
	o.Lines = true
	up, fork = append(p.runs(0, few, o), up...), append(p.runs(1, few, o), fork...)
	switch v, crashed := crash(up, fork); {
	case p.drivers[0].ctx.Err() != nil:
		return verdict{}
	case crashed:
		return v
	case up.exact() && fork.exact():
		return explain(plan, up[0], fork[0])
	}
	up, fork = up[:few], fork[:few] // with lines
	for _, times := range []int{some, many} {
		up, fork = append(up, p.runs(0, times-len(up), o)...), append(fork, p.runs(1, times-len(fork), o)...)
		if v = rates(plan, up, fork); v.finding == "" {
			break
		}
	}
	return v
}

// runs runs a plan with a driver.
func (p *pair) runs(driver, times int, o order) (t traces) {
	for range times {
		t = append(t, p.drivers[driver].run(o))
	}
	return t
}

// exact reports whether all runs have the same trace.
func (t traces) exact() bool {
	return t.all(func(one trial.Trace) bool { return one.Digest == t[0].Digest })
}

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

// overloaded compares the drivers by a plan with overload errors, after which they need not do the same. The runs differ in what the
// drivers draw.
func (p *pair) overloaded(plan trial.Plan) (v verdict) {
	var up, fork traces
	for _, times := range []int{1, runs} {
		for n := len(up); n < times; n++ {
			o := order{Plan: plan, Salt: uint64(n)}
			up, fork = append(up, p.drivers[0].run(o)), append(fork, p.drivers[1].run(o))
		}
		if v, crashed := crash(up, fork); crashed || p.drivers[0].ctx.Err() != nil {
			return v
		}
		if r := brokenOf(always, plan, up, fork); r != nil && times == runs {
			return verdict{finding: r.text, detail: ends(up, fork)}
		} else if r != nil {
			continue
		}
		if v.finding, v.detail = broken(plan, up, fork); v.finding == "" {
			return v
		}
	}
	return v
}

// text describes a finding.
func (v verdict) text(plan trial.Plan) string {
	return fmt.Sprintf("seed %d: %s\nplan %+v\n%s\n", plan.Seed, v.finding, plan, v.detail)
}
