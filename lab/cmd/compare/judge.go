package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"mongofork/lab/virtual/trial"
)

// runs is how often a plan runs with each driver before a difference counts, as the drivers draw random numbers, and goroutines race
// within an instant.
const runs = 15

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

// traces are those of a plan's runs with one driver.
type traces []trial.Trace

const (
	different = "the traces differ"
	crashes   = "the fork crashes, or does not end"
	// chance is the reason where no two runs agree as the drivers choose servers at random, and goroutines race.
	chance = "(by chance: which server, or which call is the first)"
)

// judge compares the drivers by a plan. What chance may do has to show in all runs.
func (p *pair) judge(plan trial.Plan) (v verdict) {
	var up, fork traces
	for n := range runs {
		up, fork = append(up, p.drivers[0].run(plan, n > 0)), append(fork, p.drivers[1].run(plan, n > 0))
		switch {
		case p.drivers[0].ctx.Err() != nil:
			return verdict{}
		case up[n].Crash != "":
			return verdict{reasons: []string{"(upstream crashes, or does not end)"}}
		case fork[n].Crash != "":
			return verdict{finding: crashes, detail: fork[n].Crash}
		case brokenOf(always, plan, up, fork) != nil:
			return verdict{finding: brokenOf(always, plan, up, fork).text, detail: ends(up, fork)}
		case plan.Overloads():
			v.finding, v.detail = broken(plan, up, fork)
			if v.finding == "" {
				return v
			}
		case up.agree(fork):
			return verdict{}
		case n > 0: // the second run may agree
			if v = explain(plan, up[1:], fork[1:]); len(v.reasons) > 0 && !slices.Contains(v.reasons, chance) {
				return v
			}
		}
	}
	return v
}

// agree reports whether two runs agree.
func (t traces) agree(others traces) bool {
	return t.any(func(a trial.Trace) bool {
		return others.any(func(b trial.Trace) bool { return a.Digest == b.Digest })
	})
}

// explain finds the reasons for the differences between the two most similar traces, or the first one without a reason. Several pairs
// may be as similar, up to a difference that has a reason; what chance does after that has to differ in all of them.
func explain(plan trial.Plan, up, fork traces) (v verdict) {
	var best [][2][]string
	most := -1
	for _, u := range up {
		for _, f := range fork {
			switch same := common(u.Lines, f.Lines); {
			case same > most:
				most, best = same, [][2][]string{{u.Lines, f.Lines}}
			case same == most:
				best = append(best, [2][]string{u.Lines, f.Lines})
			}
		}
	}
	v = explainPair(plan, best[0][0][most:], best[0][1][most:])
	for _, pair := range best[1:] {
		if v.finding == "" && !slices.Contains(v.reasons, chance) {
			break
		}
		if w := explainPair(plan, pair[0][most:], pair[1][most:]); w.finding == "" {
			v = w
		}
	}
	return v
}

// explainPair finds the reasons for the differences between two traces.
func explainPair(plan trial.Plan, u, f []string) (v verdict) {
	for len(u)+len(f) > 0 {
		var onlyU, onlyF, all []string
		onlyU, onlyF, all, u, f = instant(u, f)
		if len(onlyU)+len(onlyF) == 0 {
			continue
		}
		reason := trial.Reason(plan, onlyU, onlyF, all)
		if reason == nil && byChance(plan, onlyU, onlyF) {
			reason = &trial.Difference{Row: chance, Last: true}
		}
		if reason == nil {
			return verdict{finding: different, detail: "only upstream:\n\t" + strings.Join(onlyU, "\n\t") + "\nonly the fork:\n\t" + strings.Join(onlyF, "\n\t")}
		}
		v.reasons = append(v.reasons, reason.Row)
		if reason.Last {
			break
		}
	}
	slices.Sort(v.reasons)
	v.reasons = slices.Compact(v.reasons)
	return v
}

var (
	server = regexp.MustCompile(`pool (\S+): ConnectionCheckOutStarted`)
	call   = regexp.MustCompile(`event started \w+ of call (\d+)`)
)

// byChance reports whether the drivers chose different servers, or of several calls that wait for a server or a connection, another one
// was the first.
func byChance(plan trial.Plan, a, b []string) bool {
	differ := func(what *regexp.Regexp) bool {
		as, bs := named(what, a), named(what, b)
		return len(as) > 0 && len(bs) > 0 && !slices.Equal(as, bs)
	}
	return differ(server) || len(plan.Workers()) > 1 && differ(call)
}

// named returns what the lines name.
func named(what *regexp.Regexp, lines []string) (names []string) {
	for _, line := range lines {
		if match := what.FindStringSubmatch(line); match != nil {
			names = append(names, match[1])
		}
	}
	return names
}

func common(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && (n < len(a) && a[n][:timeWidth] == a[n-1][:timeWidth] || n < len(b) && b[n][:timeWidth] == b[n-1][:timeWidth]) {
		n-- // to the beginning of the instant
	}
	return n
}

// instant takes the lines of the first instant from both, and returns those that only one of them has, and all of them.
func instant(a, b []string) (onlyA, onlyB, all, restA, restB []string) {
	at := ""
	for _, lines := range [][]string{a, b} {
		if len(lines) > 0 && (at == "" || lines[0][:timeWidth] < at) {
			at = lines[0][:timeWidth]
		}
	}
	a, restA = until(a, at)
	b, restB = until(b, at)
	return without(a, b), without(b, a), slices.Concat(a, b), restA, restB
}

// timeWidth is the length of a line's time.
const timeWidth = 12

func until(lines []string, at string) (these, rest []string) {
	n := 0
	for n < len(lines) && lines[n][:timeWidth] == at {
		n++
	}
	return lines[:n], lines[n:]
}

// without returns the lines that others has not, or not as often.
func without(lines, others []string) (rest []string) {
	others = slices.Clone(others)
	for _, line := range lines {
		if i := slices.Index(others, line); i >= 0 {
			others = slices.Delete(others, i, i+1)
		} else {
			rest = append(rest, line)
		}
	}
	return rest
}

// effort is how many smaller plans are tried.
const effort = 300

// report describes a finding, with the smallest plan that shows it.
func (p *pair) report(plan trial.Plan, v verdict) string {
	tried := 0
	for smaller := v.finding != crashes; smaller; {
		smaller = false
		for _, candidate := range plan.Without() {
			if tried++; tried > effort {
				break
			}
			if w := p.judge(candidate); w.finding == v.finding {
				plan, v, smaller = candidate, w, true
				break
			}
		}
	}
	return v.text(plan)
}

// text describes a finding.
func (v verdict) text(plan trial.Plan) string {
	return fmt.Sprintf("seed %d: %s\nplan %+v\n%s\n", plan.Seed, v.finding, plan, v.detail)
}

// broken returns the rule that the fork breaks under overload, and how its calls ended, or nothing.
func broken(plan trial.Plan, up, fork traces) (rule, detail string) {
	if r := brokenOf(slices.Concat(rules, features), plan, up, fork); r != nil {
		return r.text, ends(up, fork)
	}
	return "", ""
}

// ends describes how the calls ended in the last runs.
func ends(up, fork traces) string {
	return "upstream:\n" + up[len(up)-1].String() + "the fork:\n" + fork[len(fork)-1].String()
}

// rule is what the fork has to keep under overload, where it need not do the same as upstream.
type rule struct {
	text   string
	broken func(plan trial.Plan, up, fork traces) bool
}

const (
	roundTrip = 2 * time.Millisecond
	// abortTime is how long a caller may wait for the end of a transaction after its deadline.
	abortTime = 500 * time.Millisecond
	// heartbeatPause is the least time between two heartbeats of a server that operations wait for.
	heartbeatPause = 500 * time.Millisecond
	// crowd is how many waiting calls are enough to tell backoffs from the pace of the heartbeats.
	crowd = 5
)

var rules = []rule{
	{"an acknowledged write is lost", func(_ trial.Plan, _, fork traces) bool {
		return fork.any(func(t trial.Trace) bool { return len(t.Lost) > 0 })
	}},
	{"a write took place twice", func(_ trial.Plan, _, fork traces) bool {
		return fork.any(func(t trial.Trace) bool { return len(t.Twice) > 0 })
	}},
	{"more commands than attempts are allowed", func(plan trial.Plan, _, fork traces) bool {
		return plan.OnlyOverloads() && fork.any(func(t trial.Trace) bool {
			return slices.ContainsFunc(t.Outcomes, func(o trial.Outcome) bool { return o.Single() && o.Attempts > t.Limit+1 })
		})
	}},
	{"a call outlives its deadline", func(_ trial.Plan, up, fork traces) bool {
		return fork.everyCall(func(i int, f trial.Outcome) bool {
			allowed := max(up.longest(i, trial.Outcome.Overrun), 0) + roundTrip
			if f.Ends() {
				allowed += abortTime
			}
			return f.Overrun() > allowed
		})
	}},
	{"recovery is later than upstream's", func(plan trial.Plan, up, fork traces) bool {
		end, allowed := plan.End(), heartbeatPause+100*time.Millisecond
		if end == 0 || plan.Limits() {
			return false // what retries cost a server at its limit is for the benchmarks
		}
		if plan.Has("adaptiveThrottling") {
			allowed += time.Second
		}
		after := func(o trial.Outcome) time.Duration {
			if !o.Single() || o.Start > end || o.End < end {
				return 0
			}
			return o.End - end
		}
		var waiting []trial.Outcome
		for _, o := range fork[0].Outcomes {
			if up.longest(o.Index, after) > 0 {
				waiting = append(waiting, o)
			}
		}
		of := traces.longest
		switch { // a call may be in a backoff when the fault ends
		case len(fork) == runs && len(waiting) < crowd:
			of = traces.shortest
		case len(fork) == runs:
			of = traces.often
		}
		return slices.ContainsFunc(waiting, func(o trial.Outcome) bool {
			return of(fork, o.Index, after) > max(up.longest(o.Index, after), allowed)
		})
	}},
	{"a storm of connections", func(plan trial.Plan, up, fork traces) bool {
		// Where upstream gives up, the fork's later commands may lose their connection, and the monitor then its own.
		cut := func(t trial.Trace) int { return t.Cut }
		allowed := 8*(1+len(plan.Workers())) + 2*max(0, fork.least(cut)-up.most(cut))
		return fork.least(trial.Trace.Burst) > up.most(trial.Trace.Burst)+allowed
	}},
	{"a transaction is left open", func(plan trial.Plan, up, fork traces) bool {
		open, sent := func(t trial.Trace) int { return t.Unfinished }, func(t trial.Trace) int { return t.Commands }
		if fork.everyCall(func(_ int, o trial.Outcome) bool { return o.EndsItself() && o.Deadline+o.Cancel > 0 && !o.OK() }) {
			return false // the application has aborted with a context that was over
		}
		// Upstream v2.5.0 may give up before the transaction has begun.
		return plan.Reachable() && fork.least(open) > up.most(open) && up.most(sent) >= fork.least(sent)
	}},
	{"a call fails that succeeds with upstream", func(plan trial.Plan, up, fork traces) bool {
		if plan.Has("adaptive") || plan.Has("retry") || plan.Limits() || !plan.Reachable() || plan.Has("timeoutMS") && plan.Has("withTransaction") {
			return false // by chance; or by what differences.md has about connections and WithTransaction
		}
		return fork.everyCall(func(i int, f trial.Outcome) bool {
			return !f.OK() && up.all(func(t trial.Trace) bool {
				// Upstream v2.5.0 takes a rejection for a success. With a deadline it has no limit, and uses up what goes wrong.
				return i < len(t.Outcomes) && t.Outcomes[i].OK() && !t.Outcomes[i].Rejected && !t.BeyondLimit(fork[0].Limit)
			})
		})
	}},
	{"tokens are minted", func(_ trial.Plan, _, fork traces) bool {
		return fork.any(func(t trial.Trace) bool { return t.Minted > 3 }) // those of attempts under way
	}},
	{"servers are selected in a busy loop", func(plan trial.Plan, up, fork traces) bool {
		selections := func(t trial.Trace) int { return t.Selections }
		return plan.OnlyOverloads() && fork.least(selections) > up.most(selections)+2*(fork[0].Limit+1) // one for each attempt, one to look elsewhere
	}},
}

func (t traces) any(is func(trial.Trace) bool) bool { return slices.ContainsFunc(t, is) }

func (t traces) all(is func(trial.Trace) bool) bool {
	return !slices.ContainsFunc(t, func(t trial.Trace) bool { return !is(t) })
}

func (t traces) numbers(of func(trial.Trace) int) []int {
	numbers := make([]int, 0, len(t))
	for _, one := range t {
		numbers = append(numbers, of(one))
	}
	return numbers
}

func (t traces) least(of func(trial.Trace) int) int { return slices.Min(t.numbers(of)) }
func (t traces) most(of func(trial.Trace) int) int  { return slices.Max(t.numbers(of)) }

// everyCall reports whether there is a call that is so in every run.
func (t traces) everyCall(is func(i int, o trial.Outcome) bool) bool {
	for i := range t[0].Outcomes {
		if t.all(func(one trial.Trace) bool { return i < len(one.Outcomes) && is(i, one.Outcomes[i]) }) {
			return true
		}
	}
	return false
}

func (t traces) times(i int, of func(trial.Outcome) time.Duration) []time.Duration {
	var times []time.Duration
	for _, one := range t {
		if i < len(one.Outcomes) {
			times = append(times, of(one.Outcomes[i]))
		}
	}
	slices.Sort(times)
	return append(times, 0)[:max(1, len(times))]
}

func (t traces) longest(i int, of func(trial.Outcome) time.Duration) time.Duration {
	return slices.Max(t.times(i, of))
}

func (t traces) shortest(i int, of func(trial.Outcome) time.Duration) time.Duration {
	return slices.Min(t.times(i, of))
}

// often returns the time that a fifth of the runs reach.
func (t traces) often(i int, of func(trial.Outcome) time.Duration) time.Duration {
	times := t.times(i, of)
	return times[len(times)-1-len(times)/5]
}
