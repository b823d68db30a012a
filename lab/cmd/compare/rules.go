package main

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"mongofork/lab/virtual/trial"
)

// rule is what the fork has to keep.
type rule struct {
	text string
	// of are the plans that it is for; nil stands for all.
	of     func(trial.Plan) bool
	broken flaw
}

// flaw is what runs of a plan may show.
type flaw = func(plan trial.Plan, up, fork traces) bool

// call is one in a run of the fork.
type call struct {
	trial.Outcome
	plan         trial.Plan
	limit, index int
	up           traces
}

// all reports whether the call is so in all of upstream's runs.
func (c call) all(is func(trial.Outcome) bool) bool {
	return c.up.all(func(t trial.Trace) bool { return is(t.Outcomes[c.index]) })
}

// longest returns the longest time of the call in upstream's runs, or 0.
func (c call) longest(of func(trial.Outcome) time.Duration) time.Duration {
	return time.Duration(max(0, c.up.most(func(t trial.Trace) int { return int(of(t.Outcomes[c.index])) })))
}

// once is whether a call breaks a rule in a run; often is in more than a third of them, as what a driver does now and then counts, too;
// and ofRun is whether a run does.
func once(is func(call) bool) flaw {
	return func(plan trial.Plan, up, fork traces) bool { return most(is, plan, up, fork) > 0 }
}

func often(is func(call) bool) flaw {
	return func(plan trial.Plan, up, fork traces) bool { return most(is, plan, up, fork) > len(fork)/3 }
}

func ofRun(is func(trial.Trace) bool) flaw {
	return func(_ trial.Plan, _, fork traces) bool { return fork.any(is) }
}

// most returns in how many runs a call is so, of that which most often is.
func most(is func(call) bool, plan trial.Plan, up, fork traces) (most int) {
	for i := range fork[0].Outcomes {
		most = max(most, len(slices.DeleteFunc(slices.Clone(fork), func(t trial.Trace) bool {
			return !is(call{t.Outcomes[i], plan, t.Limit, i, up})
		})))
	}
	return most
}

// brokenOf returns the first of some rules that the fork breaks, or nil; upstream, if it is compared with itself, need not keep them.
func brokenOf(some []rule, plan trial.Plan, up, fork traces) *rule {
	if fork[0].Untouched {
		return nil
	}
	i := slices.IndexFunc(some, func(r rule) bool { return (r.of == nil || r.of(plan)) && r.broken(plan, up, fork) })
	if i < 0 {
		return nil
	}
	return &some[i]
}

// broken returns the rule that the fork breaks, and how the calls ended in the last runs, or nothing.
func broken(plan trial.Plan, up, fork traces) (rule, detail string) {
	which := always
	if plan.Varies() {
		which = slices.Concat(rules, always)
	}
	if r := brokenOf(which, plan, up, fork); r != nil {
		brief := func(t trial.Trace) trial.Trace {
			t.Lines, t.Outcomes = nil, t.Outcomes[:min(len(t.Outcomes), 10)]
			return t
		}
		return r.text, fmt.Sprintf("upstream: %+v\nthe fork: %+v", brief(up[len(up)-1]), brief(fork[len(fork)-1]))
	}
	return "", ""
}

const (
	roundTrip = 2 * time.Millisecond
	// transactionEnd is how long the end of a transaction may take with its backoffs and connections.
	transactionEnd = 3 * time.Second
	// transactionTime is what a transaction takes, and conflictTime one that conflicts.
	transactionTime, conflictTime = 8 * time.Millisecond, 860 * time.Microsecond
)

// always are rules that the fork has to keep under any plan.
var always = []rule{
	{text: "a call panics that does not with upstream", broken: often(func(c call) bool {
		return c.Panicked && c.all(func(o trial.Outcome) bool { return !o.Panicked })
	})},
	{text: "a call outlives its deadline", broken: often(outlives)},
	// WithTransaction may commit again for two minutes.
	{text: "a storm of connections", of: func(p trial.Plan) bool { return !p.Has("withTransaction") },
		broken: func(_ trial.Plan, up, fork traces) bool {
			opened := func(t trial.Trace) int { return t.Opened }
			return fork.least(opened) > 100+10*up.most(opened)
		}},
	{text: "a pool is ready before its server is known", of: func(p trial.Plan) bool { return !p.Proxied() },
		broken: ofRun(func(t trial.Trace) bool { return t.Early > 0 })},
	{text: "a command is of a transaction that has not been started there", of: func(p trial.Plan) bool { return p.Monitor.Asks == 0 },
		broken: ofRun(func(t trial.Trace) bool { return t.Unstarted > 0 })},
	{text: "an acknowledged write is lost", broken: others(func(t trial.Trace) []int { return t.Lost })},
	{text: "a write took place twice", broken: others(func(t trial.Trace) []int { return t.Twice })},
	{text: "a command's event has not exactly one counterpart", broken: ofRun(func(t trial.Trace) bool { return t.Unpaired > 0 })},
	{text: "a connection is not returned", broken: ofRun(func(t trial.Trace) bool { return t.Held > 0 })},
	{text: "a retry goes to the router again that failed", of: is(trial.OneRouter),
		broken: once(func(c call) bool { return c.Attempts > 1+len(c.plan.Faults) || c.Single() && !c.OK() })},
	{text: "a handshake does not announce backpressure", broken: ofRun(func(t trial.Trace) bool { return t.Unannounced > 0 })},
	{text: "a retry is another command", of: func(p trial.Plan) bool { return p.Monitor.Asks == 0 },
		broken: ofRun(func(t trial.Trace) bool { return t.Changed > 0 })},
}

// is returns whether a plan is one of these scenarios.
func is(scenarios ...string) func(trial.Plan) bool {
	return func(p trial.Plan) bool { return slices.Contains(scenarios, p.Only) }
}

// others reports whether one of the fork's runs has calls among these that none of upstream's has, or under overload any.
func others(of func(trial.Trace) []int) flaw {
	return func(plan trial.Plan, up, fork traces) bool {
		return fork.any(func(f trial.Trace) bool {
			return slices.ContainsFunc(of(f), func(call int) bool {
				return plan.Varies() || !up.any(func(u trial.Trace) bool { return slices.Contains(of(u), call) })
			})
		})
	}
}

// unsent is the error of a command that got no connection.
var unsent = regexp.MustCompile(`(during connection handshake|was cleared because).*network`)

// rules are those for overload, where drivers with backpressure need not do what upstream does.
var rules = []rule{
	{text: "more commands than attempts are allowed", of: trial.Plan.OnlyOverloads, broken: once(func(c call) bool {
		return c.Single() && c.Attempts > c.limit+1
	})},
	// An application does not abort once its time is up, or after a commit of unknown result.
	{text: "a transaction is left open", of: trial.Plan.Rejects, broken: func(plan trial.Plan, up, fork traces) bool {
		open := func(t trial.Trace) int { return t.Unfinished }
		return fork.often(open) > up.most(open) && !once(func(c call) bool {
			return strings.Contains(c.Kind, "ransaction") && c.plan.Hurries(c.Call) ||
				strings.Contains(c.Error, "UnknownTransactionCommitResult")
		})(plan, up, fork)
	}},
	{text: "a call fails that succeeds with upstream", of: func(p trial.Plan) bool {
		// else by chance; or by what differences.md has about connections and WithTransaction
		return !p.Has("adaptive") && !p.Has("retry") && p.Monitor.Asks == 0 && p.Answers() &&
			p.Batch == 0 && (!p.Has("maxAdaptiveRetries=0") || !p.Has("withTransaction"))
	}, broken: often(failsAlone)},
	{text: "tokens are minted", broken: func(plan trial.Plan, _, fork traces) bool {
		underWay := float64(max(3, len(plan.Workers())))
		return fork.any(func(t trial.Trace) bool { return t.Minted > underWay })
	}},
	{text: "the command of a monitor changes the result of its call", of: is(trial.Monitored),
		broken: often(func(c call) bool {
			return c.all(func(o trial.Outcome) bool { return o.Error != c.Error })
		})},
	{text: "a retry that would do is not made", of: is(trial.OneRetry, trial.Refused),
		broken: often(func(c call) bool { return !c.OK() })},
	{text: "a pool is cleared for an overload", of: func(p trial.Plan) bool { return p.Only == trial.Refused || p.Rejects() },
		broken: ofRun(func(t trial.Trace) bool { return t.Cleared > 0 })},
	{text: "a command that was rejected is not sent again", of: trial.Plan.KeepsRetrying, broken: often(func(c call) bool {
		permitted := !c.plan.Has("retry") || c.Single() && !c.plan.Off(c.Call)
		return permitted && c.Refused && c.Unhurried() && c.Attempts <= c.limit
	})},
	{text: "a retry though the option is off", of: trial.Plan.OnlyOverloads, broken: often(func(c call) bool {
		return c.Single() && c.plan.Off(c.Call) && c.Attempts > 1
	})},
	{text: "a write that was not sent does not say that it may be retried", broken: often(func(c call) bool {
		return c.Retryable() && !c.plan.Off(c.Call) && unsent.MatchString(c.Error) &&
			!strings.Contains(c.Error, "RetryableWriteError")
	})},
	{text: "a backoff lasts until the deadline", of: trial.Plan.Rejects, broken: often(func(c call) bool {
		return c.Single() && c.Overloaded && !c.OK() && c.Deadline > 0 && c.End >= c.Start+c.Deadline
	})},
	{text: "closing a cursor keeps its caller waiting", of: is(trial.Closings), broken: once(func(c call) bool {
		took := func(o trial.Outcome) time.Duration { return o.End - o.Start }
		return took(c.Outcome) > c.longest(took)+roundTrip
	})},
	{text: "backoffs are not what they should be", of: func(p trial.Plan) bool { return p.Rejects() || p.Only == trial.Conflicts },
		broken: func(plan trial.Plan, _, fork traces) bool {
			allowed := map[bool]float64{true: 5, false: 1}[len(fork) == runs] // standard deviations
			sum, squares, n := fork.backoffs(plan)
			few := 2 / (9 * n) // Wilson's and Hilferty's approximation of how much the sum of the squares varies
			return math.Abs(sum) > allowed*math.Sqrt(n) || squares < n*math.Pow(1-few-allowed*math.Sqrt(few), 3)
		}},
	{text: "a write took place of which the error says that it did not", of: func(p trial.Plan) bool { return p.Batch == 0 },
		broken: once(func(c call) bool { return c.Single() && c.Done && strings.Contains(c.Error, "NoWritesPerformed") })},
	{text: "the error does not say that the server is overloaded",
		of: func(p trial.Plan) bool { return p.Answers() && !p.Has("timeoutMS") }, broken: often(func(c call) bool {
			return c.Single() && c.Overloaded && c.Refused && !c.OK() && !strings.Contains(c.Error, "SystemOverloadedError") &&
				!strings.Contains(c.Error, "the write concern fails")
		})},
	{text: "a call succeeds whose last attempt was rejected",
		broken: once(func(c call) bool { return c.Single() && c.OK() && c.Refused })},
	{text: "a call that was given up does not say so", of: trial.Plan.Rejects, broken: often(func(c call) bool {
		ended := c.Start + c.Deadline + c.Cancel
		return c.Single() && c.Overloaded && !c.OK() && c.Cancel > 0 && c.End >= ended && c.End < ended+roundTrip &&
			!strings.Contains(c.Error, "context canceled")
	})},
}

// outlives is whether a call of one command outlives its deadline by more than what its monitors and its connection take; WithTransaction
// may take more, to end its transaction, and with a Timeout has that anew.
func outlives(c call) bool {
	late := func(o trial.Outcome) time.Duration { return o.End - (o.Start + o.Deadline + o.Cancel) }
	allowed, within := c.longest(late)+2*(c.plan.Monitor.Takes+c.plan.Monitor.Asks+roundTrip), c.Kind == "withTransaction"
	if within {
		allowed += transactionEnd
	}
	return (c.Single() || within && !c.plan.Has("timeoutMS")) && !c.Unhurried() && late(c.Outcome) > allowed
}

func failsAlone(c call) bool {
	// Upstream v2.5.0 takes a rejection for a success, or gives up: it makes no retries, which would meet the faults of other calls, or
	// keep the connections of those.
	gaveUp := func(t trial.Trace) bool {
		return len(t.Lost) > 0 || slices.ContainsFunc(t.Outcomes, func(o trial.Outcome) bool {
			return (o.Refused || o.Overloaded && !o.OK()) && o.Start < t.Outcomes[c.index].End
		})
	}
	if c.OK() || c.plan.Hurries(c.Call) { // whose time limits the fork's backoffs
		return false
	}
	return c.up.all(func(t trial.Trace) bool {
		o := t.Outcomes[c.index]
		// With a deadline upstream v2.5.0 has no limit, and uses up what goes wrong; so has the newest after code 391.
		return o.OK() && !o.Refused && (!o.Overloaded || o.Attempts > 1) && !t.BeyondLimit(c.limit) &&
			o.Attempts <= c.Attempts+c.limit && (c.plan.OnlyOverloads() || !gaveUp(t))
	})
}

// backoffs returns the sums of by how many standard deviations the backoffs are too long of calls that had all retries, or of transactions
// that had conflicts, of the squares of that, and how many there are.
func (t traces) backoffs(plan trial.Plan) (sum, squares, n float64) {
	for _, one := range t {
		for _, o := range one.Outcomes {
			longest, factor, times, took := one.Backoff.Seconds(), 2.0, one.Limit, o.End-o.Start
			switch {
			case plan.Only == trial.Conflicts: // the newer specification's first is half as long again
				longest, factor, times = 0.005, 1.5, plan.Faults[0].Times
				if one.Backoff > 100*time.Millisecond {
					longest *= 1.5
				}
				took -= transactionTime + time.Duration(times)*conflictTime
			case !o.Single() || o.OK() || !o.Overloaded || !o.Unhurried() || o.Attempts != one.Limit+1:
				continue
			}
			deviation, variance := took.Seconds(), 0.0
			for ; times > 0; times-- { // equally likely up to that
				deviation, variance = deviation-longest/2, variance+longest*longest/12
				longest = min(longest*factor, 10)
			}
			if variance > 0 {
				deviation /= math.Sqrt(variance)
				sum, squares, n = sum+deviation, squares+deviation*deviation, n+1
			}
		}
	}
	return sum, squares, n
}
