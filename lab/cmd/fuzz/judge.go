package main

import (
	"fmt"
	"slices"
	"strings"

	"mongofork/lab/virtual/trial"
)

// runs is how often drivers run a plan in which nothing goes wrong, if one run shows a difference: the order in which goroutines run within
// an instant is by chance.
const runs = 15

// pair runs plans with both drivers.
type pair struct{ upstream, fork driver }

// judge returns what is wrong with the fork under the plan of a seed, if anything is.
func (p *pair) judge(seed uint64) (wrong string) {
	o, plan := order{Seed: seed}, trial.New(seed)
	fork := p.fork.run(o)
	switch wrong = flaws(fork); {
	case wrong != "":
	case plan.Peaceful():
		ups, forks := []trial.Trace{p.upstream.run(o)}, []trial.Trace{fork}
		if wrong = equal(ups, forks); wrong != "" {
			for range runs - 1 {
				ups, forks = append(ups, p.upstream.run(o)), append(forks, p.fork.run(o))
			}
			wrong = equal(ups, forks)
		}
	case plan.Passes():
		o.Without = true
		wrong = same(plan, p.fork.run(o), fork)
	}
	return wrong
}

func flaws(t trial.Trace) string {
	if t.Crash != "" {
		return t.Crash
	}
	return strings.Join(t.Flaws, "\n")
}

// equal compares the traces of a plan in which nothing goes wrong: each of the fork's has to be one of upstream's, but for a third of them.
func equal(up, fork []trial.Trace) string {
	alone := slices.DeleteFunc(slices.Clone(fork), func(f trial.Trace) bool {
		return slices.ContainsFunc(up, func(u trial.Trace) bool { return slices.Equal(u.Lines, f.Lines) || u.Crash != "" })
	})
	if len(alone) <= len(fork)/3 {
		return ""
	}
	return "nothing goes wrong, and the fork does not do what upstream does\n" +
		firstDifference("upstream", up[0].Lines, "the fork", alone[0].Lines)
}

// same compares calls that get over errors with those of a trial without the errors.
func same(plan trial.Plan, without, with trial.Trace) string {
	calls, others := compared(plan, without.Calls), compared(plan, with.Calls)
	if slices.Equal(calls, others) && !(plan.OnlyRejects() && plan.Steady() && with.Opened > without.Opened) {
		return ""
	}
	return fmt.Sprintf("a call is not the same as without the errors that retries get over: %d and %d connections\n%s", without.Opened,
		with.Opened, firstDifference("without", calls, "with the errors", others))
}

// compared returns of the lines of calls all, if nothing but rejections goes wrong, and otherwise only how the calls ended.
func compared(plan trial.Plan, lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return !plan.OnlyRejects() && !strings.Contains(line, ": returns ")
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
