package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"mongofork/bench/overload"
)

// goal is a goal with a bound in each of its cases.
type goal struct {
	what   string
	least  bool   // the bounds are lower ones
	format string // of bounds and figures
	cases  []goalCase
}

type goalCase struct {
	name  string
	bound float64
	of    func(view) float64
}

// view is what was measured, for the fork of one base.
type view struct {
	measured
	arms
	own ownArms
}

// ownArms are those of the fork of one base.
type ownArms struct{ fork, full, spent, throttled arm }

// views are those of both bases.
func (a arms) views(all measured) []view {
	return []view{
		{all, a, ownArms{a.fork, a.full, a.spent, a.throttled}},
		{all, a, ownArms{a.newerFork, a.newerFull, a.newerSpent, a.newerThrottled}},
	}
}

// figure is a number of a result.
type figure func(overload.Result) float64

func goodput(r overload.Result) float64   { return r.Goodput }
func commands(r overload.Result) float64  { return r.Commands }
func failures(r overload.Result) float64  { return r.Errors }
func success(r overload.Result) float64   { return 100 - r.Errors }
func fairness(r overload.Result) float64  { return r.Fairness }
func p50(r overload.Result) float64       { return r.P50 }
func p99(r overload.Result) float64       { return r.P99 }
func recovery(r overload.Result) float64  { return r.Recovery }
func lastError(r overload.Result) float64 { return r.LastError }
func ownShare(r overload.Result) float64  { return r.Own / r.Others }

func cleared(r overload.Result) float64     { return r.Storm.Cleared }
func stormErrors(r overload.Result) float64 { return r.Storm.Errors }
func lastClient(r overload.Result) float64  { return r.Storm.Last }
func unconnected(r overload.Result) float64 { return r.Storm.Unconnected }

// inClass returns a figure of a class; not a number if there is none of that name.
func inClass(name string, of func(overload.ClassResult) float64) figure {
	return func(r overload.Result) float64 {
		for _, c := range r.Classes {
			if c.Name == name {
				return of(c)
			}
		}
		return math.NaN()
	}
}

func classSuccess(name string) figure {
	return inClass(name, func(c overload.ClassResult) float64 { return c.Success })
}

func classP99(name string) figure {
	return inClass(name, func(c overload.ClassResult) float64 { return c.P99 })
}

// others is the share that fails of what is not always rejected, after the first second.
func others(r overload.Result) float64 {
	return inClass(served, func(c overload.ClassResult) float64 { return c.Failed })(r)
}

// get returns a figure of a scenario with an arm; NaN if it was not measured.
func (m measured) get(scenario string, a arm, of figure) float64 {
	if r, ok := m[key{scenario, a.name}]; ok {
		return of(r)
	}
	return math.NaN()
}

// picked is an arm of the fork of either base.
type picked func(view) arm

func withFull(v view) arm      { return v.own.full }
func withSpent(v view) arm     { return v.own.spent }
func withThrottled(v view) arm { return v.own.throttled }

// value is a figure of a scenario.
func value(name string, bound float64, scenario string, of figure, a picked) goalCase {
	return goalCase{name, bound, func(v view) float64 { return v.get(scenario, a(v), of) }}
}

// ratio is a figure as a multiple of that without retries. None of none is one.
func ratio(name string, bound float64, scenario string, of figure, a picked) goalCase {
	return goalCase{name, bound, func(v view) float64 {
		own, without := v.get(scenario, a(v), of), v.get(scenario, v.noRetry, of)
		if own == without {
			return 1
		}
		return own / without
	}}
}

// difference is by how much a figure exceeds that without retries.
func difference(name string, bound float64, scenario string, of figure, a picked) goalCase {
	return goalCase{name, bound, func(v view) float64 { return v.get(scenario, a(v), of) - v.get(scenario, v.noRetry, of) }}
}

// each returns a case for each number, "2 ×".
func each(of func(n float64) goalCase, numbers ...float64) []goalCase {
	all := make([]goalCase, len(numbers))
	for i, n := range numbers {
		all[i] = of(n)
	}
	return all
}

func times(load float64) string { return fmt.Sprintf("%v ×", load) }

// tokenGoals are those of adaptiveRetries.
func tokenGoals() []goal {
	kept := func(cost, bound float64) func(float64) goalCase {
		return func(load float64) goalCase {
			return ratio(times(load), bound, lastingAt(load, cost), goodput, withSpent)
		}
	}
	sent := func(load, bound float64) goalCase {
		return value(times(load), bound, lastingAt(load, 0.1), commands, withSpent)
	}
	tenAndOne := func(of func(int) goalCase) []goalCase { return []goalCase{of(10), of(1)} }
	return []goal{
		{"commands per operation, tokens spent", false, "%.2f", []goalCase{sent(2, 1.15), sent(4, 1.05)}},
		{"goodput of that without retries, tokens spent, a rejection costs 10 %", true, "%.2f", each(kept(0.1, 0.95), 1.1, 1.5, 2, 4)},
		{"the same, 50 %", true, "%.2f", each(kept(0.5, 0.85), 1.1, 1.5, 2)},
		{"errors in short bursts, of those without retries", false, "%.2f", tenAndOne(func(n int) goalCase {
			return ratio(clients(n), 0.25, "bursts, "+clients(n), failures, withFull)
		})},
		{"errors in a long spike, of those without retries", false, "%.2f", tenAndOne(func(n int) goalCase {
			return ratio(clients(n), 1.15, "spike, "+clients(n), failures, withFull)
		})},
		{"recovery after it, seconds later than without retries", false, "%.1f", tenAndOne(func(n int) goalCase {
			return difference(clients(n), 0.5, "spike, "+clients(n), recovery, withFull)
		})},
		{"one of three members gets so much of what it admits, reads that succeed, %", true, "%.2f", each(func(load float64) goalCase {
			return value(times(load), 99, oneOfThree(load), success, withFull)
		}, 1.25, 2, 4)},
		{"the same, commands per operation", false, "%.3f", each(func(load float64) goalCase {
			return value(times(load), 1.1, oneOfThree(load), commands, withFull)
		}, 1.25, 2, 4)},
		{"connection storm: clients that do not connect", false, "%.0f", []goalCase{value("", 0, "storm", unconnected, withFull)}},
		{"connection storm: pools cleared", false, "%.0f", []goalCase{value("", 0, "storm", cleared, withFull)}},
	}
}

// throttlingGoals are those of adaptiveThrottling.
func throttlingGoals() []goal {
	kept := func(load, cost, bound float64) goalCase {
		return value(times(load), bound, lastingAt(load, cost), goodput, withThrottled)
	}
	sent := func(load, bound float64) goalCase {
		return value(times(load), bound, lastingAt(load, 0.1), commands, withThrottled)
	}
	from := func(of figure, bound float64) []goalCase {
		var all []goalCase
		for _, name := range []string{clients(1), clients(10), clients(100), fastServer} {
			all = append(all, value(name, bound, name, of, withThrottled))
		}
		return all
	}
	fleets := func(of func(string) goalCase) []goalCase {
		return []goalCase{of(clients(1)), of(clients(10)), of(clients(100))}
	}
	whole := func(name, scenario string) goalCase {
		return goalCase{name, 1, func(v view) float64 {
			return v.get(scenario, v.own.throttled, goodput) / v.get(scenario, v.own.fork, goodput)
		}}
	}
	return []goal{
		{"goodput, % of the capacity, a rejection costs 10 %", true, "%.1f", []goalCase{
			kept(1.1, 0.1, 95), kept(1.5, 0.1, 95), kept(2, 0.1, 96), kept(4, 0.1, 95), kept(10, 0.1, 92)}},
		{"the same, 2 %", true, "%.1f", []goalCase{kept(10, 0.02, 95)}},
		{"the same, 50 %", true, "%.1f", []goalCase{kept(2, 0.5, 78)}},
		{"commands per operation", false, "%.2f", []goalCase{sent(2, 0.7), sent(4, 0.48), sent(10, 0.36)}},
		{"goodput from the first second on, 2 ×, % of the capacity", true, "%.1f", from(goodput, 93)},
		{"fairness in it", true, "%.2f", from(fairness, 0.9)},
		{"errors in short bursts, of those without retries", false, "%.2f", fleets(func(n string) goalCase {
			return ratio(n, 0.15, "bursts, "+n, failures, withThrottled)
		})},
		{"errors in a long spike, of those without retries", false, "%.2f", fleets(func(n string) goalCase {
			return ratio(n, 0.9, "spike, "+n, failures, withThrottled)
		})},
		{"seconds after it until nine tenths succeed", false, "%.1f", fleets(func(n string) goalCase {
			return value(n, 1, "spike, "+n, recovery, withThrottled)
		})},
		{"seconds after it until all succeed", false, "%.1f", fleets(func(n string) goalCase {
			return value(n, 1, "spike, "+n, lastError, withThrottled)
		})},
		{"errors under a load that flaps, of those without retries", false, "%.2f", []goalCase{ratio("", 1, "flap", failures, withThrottled)}},
		{"goodput in it, of that without retries", true, "%.2f", []goalCase{ratio("", 1, "flap", goodput, withThrottled)}},
		{"latency of what succeeds, 2 ×, of that without retries", false, "%.1f", []goalCase{
			ratio("median", 2, lastingAt(2, 0.1), p50, withThrottled), ratio("99th percentile", 8, lastingAt(2, 0.1), p99, withThrottled)}},
		{"errors at 95 % of the capacity, of those without retries", false, "%.2f", []goalCase{ratio("", 1, "95 %", failures, withThrottled)}},
		{"commands per operation in it", false, "%.2f", []goalCase{value("", 1.15, "95 %", commands, withThrottled)}},
		{"goodput if every other client throttles, 2 ×, of that if it retries as the specification has it", true, "%.2f", []goalCase{
			whole("beside clients without retries", besideNone), whole("beside clients with", besideRetry)}},
		{"own success beside clients without retries, of theirs", true, "%.2f", []goalCase{
			value("2 ×", 0.7, besideNone, ownShare, withThrottled), value("4 ×", 0.85, besideNone4, ownShare, withThrottled)}},
		{"one of three members gets so much of what it admits, reads that succeed, %", true, "%.2f", each(func(load float64) goalCase {
			return value(times(load), 99.9, oneOfThree(load), success, withThrottled)
		}, 1.25, 2, 4)},
		{"the same, commands per operation", false, "%.3f", each(func(load float64) goalCase {
			return value(times(load), 1.03, oneOfThree(load), commands, withThrottled)
		}, 1.25, 2, 4)},
		{"connection storm: seconds later than the faster of upstream's", false, "%.1f", []goalCase{{"", 0, func(v view) float64 {
			return v.get("storm", v.own.throttled, lastClient) - min(v.get("storm", v.noRetry, lastClient), v.get("storm", v.twoRetries, lastClient))
		}}}},
		{"connection storm: pools cleared", false, "%.0f", []goalCase{value("", 0, "storm", cleared, withThrottled)}},
		{"connection storm: errors", false, "%.0f", []goalCase{value("", 20, "storm", stormErrors, withThrottled)}},
	}
}

// classGoals are those of adaptiveThrottling for an application that says what matters.
func classGoals() []goal {
	in := func(of figure) func(name, scenario string, bound float64) goalCase {
		return func(name, scenario string, bound float64) goalCase {
			return value(name, bound, scenario, of, withThrottled)
		}
	}
	succeeds, kept, slow := in(classSuccess(critical)), in(goodput), in(classP99(critical))
	ahead := func(name, scenario string, of figure) goalCase {
		return goalCase{name, 0, func(v view) float64 { return v.get(scenario, v.own.throttled, of) - v.get(scenario, v.prioritized, of) }}
	}
	overloads := []string{classesTwice, classesFour, classesTen, classesThree, classesHundred}
	var aheadCritical, aheadGoodput, unharmed, rejected []goalCase
	for _, name := range overloads {
		aheadCritical = append(aheadCritical, ahead(name, name, classSuccess(critical)))
		aheadGoodput = append(aheadGoodput, ahead(name, name, goodput))
	}
	for _, name := range comparedInClasses() {
		for _, class := range []string{critical, normal} {
			unharmed = append(unharmed, goalCase{name + ", " + class, 0, func(v view) float64 {
				return v.get(marked(name), v.own.throttled, classSuccess(class)) - v.get(name, v.own.throttled, func(r overload.Result) float64 { return r.Own })
			}})
		}
	}
	for _, r := range allRejectedShares() {
		rejected = append(rejected, value(r.name(), 1, r.name(), others, withThrottled))
	}
	return []goal{
		{"critical operations that succeed, %", true, "%.1f", []goalCase{
			succeeds(classesTwice, classesTwice, 98.5), succeeds(classesFour, classesFour, 95), succeeds(classesTen, classesTen, 85),
			succeeds(classesThree, classesThree, 98), succeeds(classesHundred, classesHundred, 90)}},
		{"their 99th percentile, s", false, "%.2f", []goalCase{slow(classesTwice, classesTwice, 1.2)}},
		{"normal operations that succeed, %", true, "%.1f", []goalCase{
			value(classesThree, 60, classesThree, classSuccess(normal), withThrottled)}},
		{"goodput, % of the capacity", true, "%.1f", []goalCase{
			kept(classesTwice, classesTwice, 95.5), kept(classesFour, classesFour, 94), kept(classesHundred, classesHundred, 91)}},
		{"everything is critical: goodput differs from that without classes by, %", false, "%.1f", []goalCase{{"", 0.5, func(v view) float64 {
			return math.Abs(v.get(allCritical, v.own.throttled, goodput) - v.get(clients(10), v.own.throttled, goodput))
		}}}},
		{"below the capacity: operations that fail, %", false, "%.1f", []goalCase{value("", 0, classesBelow, failures, withThrottled)}},
		{"more succeed than without classes, points", true, "%.1f", unharmed},
		{"critical operations that succeed, points more than in a PriorityThrottler", true, "%.1f", aheadCritical},
		{"goodput, points more than in a PriorityThrottler", true, "%.1f", aheadGoodput},
		{"a share is always rejected: others that fail after the first second, %", false, "%.1f", rejected},
	}
}

// goalTable has a row for each goal.
func (a arms) goalTable(goals []goal, all measured) string {
	both := a.views(all)
	rows := [][]string{{"what", "wanted", "fork of " + a.fork.base, "fork of " + a.newerFork.base, "met"}}
	for _, g := range goals {
		rows = append(rows, []string{g.title(), g.wanted(), g.found(both[0]), g.found(both[1]), g.verdict(both)})
	}
	return markdown(rows)
}

// title names the cases in the order of the figures.
func (g goal) title() string {
	if g.cases[0].name == "" {
		return g.what
	}
	return g.what + ": " + g.join(func(c goalCase) string { return c.name })
}

func (g goal) wanted() string {
	bounds := g.join(func(c goalCase) string { return fmt.Sprintf(g.format, c.bound) })
	if !slices.ContainsFunc(g.cases, func(c goalCase) bool { return c.bound != g.cases[0].bound }) {
		bounds = fmt.Sprintf(g.format, g.cases[0].bound)
	}
	if g.least {
		return "at least " + bounds
	}
	return "at most " + bounds
}

func (g goal) found(v view) string {
	return g.join(func(c goalCase) string { return formatted(g.format, c.of(v)) })
}

// verdict says which figures miss the goal, for which base if not for both. The figures count as they are shown.
func (g goal) verdict(both []view) string {
	var missed []string
	for _, c := range g.cases {
		var bases []string
		for _, v := range both {
			if !g.met(c, v) {
				bases = append(bases, v.own.fork.base)
			}
		}
		if len(bases) == 0 {
			continue
		}
		if len(bases) == len(both) {
			bases = nil
		}
		missed = append(missed, strings.TrimSpace(c.name+" "+strings.Join(bases, "")))
	}
	switch {
	case len(missed) == 0:
		return "yes"
	case len(missed) == 1 && missed[0] == "", len(missed) == len(g.cases) && missed[0] == g.cases[0].name:
		return "**no**"
	}
	return "**no**: " + strings.Join(missed, "; ")
}

// met reports whether a figure meets the goal; what was not measured misses nothing.
func (g goal) met(c goalCase, v view) bool {
	found := rounded(g.format, c.of(v))
	return math.IsNaN(found) || g.least && found >= c.bound || !g.least && found <= c.bound
}

func (g goal) join(of func(goalCase) string) string {
	all := make([]string, len(g.cases))
	for i, c := range g.cases {
		all[i] = of(c)
	}
	return strings.Join(all, "; ")
}
