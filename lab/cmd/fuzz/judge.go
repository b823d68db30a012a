package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mongofork/lab/virtual/trial"
)

// runs is how often a plan runs if one run shows a finding: what a driver does may be by chance, as backoffs are.
const runs = 15

// order asks a driver for a trial.
type order struct {
	Plan trial.Plan
	Salt uint64 // makes drivers draw other numbers
}

// driver runs trials with a driver.
type driver struct{ child[order, trial.Trace] }

// pair runs plans with both drivers.
type pair struct{ upstream, fork driver }

const (
	different = "nothing goes wrong, and the fork does not do what upstream does"
	impasse   = "a call is not the same as without the errors that retries get over"
)

// judge runs a plan. What one run shows counts if more do.
func (p *pair) judge(plan trial.Plan) finding {
	if f := p.compared(plan, 1); f.what == "" {
		return f
	}
	return p.compared(plan, runs)
}

// compared runs a plan so often, and judges what it shows: by the trace of upstream if nothing goes wrong, by the calls without the
// errors that retries get over if there are such errors, and always by the rules.
func (p *pair) compared(plan trial.Plan, times int) finding {
	fork := p.fork.times(plan, times)
	for _, t := range fork {
		if t.Crash != "" {
			return finding{"the fork crashes, or does not end", t.Crash}
		}
		if len(t.Flaws) > 0 {
			return finding{t.Flaws[0], fmt.Sprintf("%+v", brief(t))}
		}
	}
	if r := brokenOf(rules, plan, fork); r != nil {
		return finding{r.text, fmt.Sprintf("%+v", brief(fork[len(fork)-1]))}
	}
	switch {
	case plan.Peaceful():
		return equal(p.upstream.times(plan, times), fork)
	case plan.Passes():
		return same(plan, p.fork.times(plan.Without(), 1)[0], fork)
	}
	return finding{}
}

// times runs a plan so often. Drivers draw other numbers in each run if something goes wrong.
func (d *driver) times(plan trial.Plan, times int) (t traces) {
	for n := range uint64(times) {
		if plan.Peaceful() {
			n = 0
		}
		trace, died := d.run(order{Plan: plan, Salt: n})
		trace.Crash = cmp.Or(died, trace.Crash)
		if t = append(t, trace); trace.Crash != "" {
			break
		}
	}
	return t
}

// brief returns a trace without what is long.
func brief(t trial.Trace) trial.Trace {
	t.Lines, t.Calls, t.Outcomes = nil, nil, t.Outcomes[:min(len(t.Outcomes), 10)]
	return t
}

// equal compares the traces of a plan in which nothing goes wrong: each of the fork's has to be one of upstream's, but for a third of
// them, as the order in which goroutines run within an instant is by chance.
func equal(up, fork traces) finding {
	alone := slices.DeleteFunc(slices.Clone(fork), func(f trial.Trace) bool {
		return slices.ContainsFunc(up, func(u trial.Trace) bool { return slices.Equal(u.Lines, f.Lines) || u.Crash != "" })
	})
	if len(alone) <= len(fork)/3 {
		return finding{}
	}
	return finding{different, firstDifference("upstream", up[0].Lines, "the fork", alone[0].Lines)}
}

// same compares calls that get over errors with those of a trial without the errors.
func same(plan trial.Plan, without trial.Trace, fork traces) finding {
	var differing traces
	without.Calls = compared(plan, without.Calls)
	for _, f := range fork {
		f.Calls = compared(plan, f.Calls)
		if !slices.Equal(without.Calls, f.Calls) || plan.OnlyRejects() && plan.Steady() && f.Opened > without.Opened {
			differing = append(differing, f)
		}
	}
	if len(differing) == 0 {
		return finding{}
	}
	return finding{impasse, fmt.Sprintf("%d and %d connections\n%s", without.Opened, differing[0].Opened,
		firstDifference("without", without.Calls, "with the errors", differing[0].Calls))}
}

// compared returns of the lines of calls all, if nothing but rejections goes wrong, and otherwise only how the calls ended.
func compared(plan trial.Plan, lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		_, what, _ := strings.Cut(line, ": ")
		return !plan.OnlyRejects() && !strings.HasPrefix(what, "returns ")
	})
}

// firstDifference shows two lists of lines from where they differ.
func firstDifference(a string, as []string, b string, bs []string) string {
	n := 0
	for n < len(as) && n < len(bs) && as[n] == bs[n] {
		n++
	}
	show := func(lines []string) string {
		return strings.Join(lines[min(n, len(lines)):min(n+6, len(lines))], "\n\t")
	}
	return fmt.Sprintf("%s:\n\t%s\n%s:\n\t%s", a, show(as), b, show(bs))
}

// traces are those of a plan's runs with one driver.
type traces []trial.Trace

// often reports whether more than a third of the runs are so.
func (t traces) often(is func(trial.Trace) bool) bool {
	n := 0
	for _, one := range t {
		if is(one) {
			n++
		}
	}
	return n > len(t)/3
}
