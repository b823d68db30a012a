package main

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"mongofork/lab/virtual/trial"
)

// rule is what the fork has to keep under overload, where it need not do the same as upstream.
type rule struct {
	text string
	// of are the plans that it is for; nil stands for all.
	of func(trial.Plan) bool
	// One of these says that it is broken: by a run of the fork; by a call, in a run; by one in more than a third of the runs; or by
	// all runs.
	run    func(trial.Trace) bool
	call   func(trial.Outcome) bool
	often  func(i int, o trial.Outcome, up traces) bool
	broken func(plan trial.Plan, up, fork traces) bool
}

// isBroken reports whether the fork breaks the rule.
func (r rule) isBroken(plan trial.Plan, up, fork traces) bool {
	switch {
	case r.of != nil && !r.of(plan):
		return false
	case r.run != nil:
		return fork.any(r.run)
	case r.call != nil:
		return fork.inACall(1, func(_ int, o trial.Outcome) bool { return r.call(o) })
	case r.often != nil:
		return fork.oftenACall(func(i int, o trial.Outcome) bool { return r.often(i, o, up) })
	default:
		return r.broken(plan, up, fork)
	}
}

// brokenOf returns the first of some rules that the fork breaks, or nil; upstream, if it is compared with itself, need not keep them.
func brokenOf(some []rule, plan trial.Plan, up, fork traces) *rule {
	if fork[0].Untouched {
		return nil
	}
	i := slices.IndexFunc(some, func(r rule) bool { return r.isBroken(plan, up, fork) })
	if i < 0 {
		return nil
	}
	return &some[i]
}

// broken returns the rule that the fork breaks, and how its calls ended, or nothing.
func broken(plan trial.Plan, up, fork traces) (rule, detail string) {
	which := always
	if plan.Varies() {
		which = slices.Concat(rules, features, always)
	}
	if r := brokenOf(which, plan, up, fork); r != nil {
		return r.text, ends(up, fork)
	}
	return "", ""
}

// ends describes how the calls ended in the last runs.
func ends(up, fork traces) string {
	return "upstream:\n" + up[len(up)-1].String() + "the fork:\n" + fork[len(fork)-1].String()
}

const (
	roundTrip = 2 * time.Millisecond
	// transactionTime is what a transaction takes, and conflictTime one that conflicts.
	transactionTime, conflictTime = 8 * time.Millisecond, 860 * time.Microsecond
	// abortTime is how long a caller may wait for the end of a transaction after its deadline.
	abortTime = 500 * time.Millisecond
)

// always are rules that the fork has to keep under any plan, whatever upstream does.
var always = []rule{
	{text: "a call panics that does not with upstream", often: func(i int, o trial.Outcome, up traces) bool {
		return o.Panicked && !up.any(func(t trial.Trace) bool { return i < len(t.Outcomes) && t.Outcomes[i].Panicked })
	}},
	{text: "far more processor time than upstream's", broken: func(plan trial.Plan, up, fork traces) bool {
		busy := func(t trial.Trace) int { return int(t.Busy) }
		return !plan.Endless() && fork.least(busy) > 10*up.most(busy)+int(300*time.Millisecond)
	}},
	{text: "a pool is ready before its server is known", of: func(p trial.Plan) bool { return !p.Proxied() },
		run: func(t trial.Trace) bool { return t.Early > 0 }},
	{text: "a command is of a transaction that has not been started", of: func(p trial.Plan) bool { return p.Monitor.Asks == 0 },
		run: func(t trial.Trace) bool { return t.Unstarted > 0 }},
	{text: "an acknowledged write is lost that is not with upstream", broken: others(func(t trial.Trace) []int { return t.Lost })},
	{text: "a write took place twice that does not with upstream", broken: others(func(t trial.Trace) []int { return t.Twice })},
	{text: "a command's event has not exactly one counterpart", run: func(t trial.Trace) bool { return t.Unpaired > 0 }},
	// Upstream keeps that of a cursor whose reply has a write concern error.
	{text: "a connection is not returned", broken: more(func(t trial.Trace) int { return t.Held })},
	{text: "a handshake does not announce backpressure", run: func(t trial.Trace) bool { return t.Unannounced > 0 }},
	{text: "a retry is another command", of: func(p trial.Plan) bool { return p.Monitor.Asks == 0 },
		run: func(t trial.Trace) bool { return t.Changed > 0 }},
}

// more reports whether one of the fork's runs has more of these than each of upstream's.
func more(of func(trial.Trace) int) func(trial.Plan, traces, traces) bool {
	return func(_ trial.Plan, up, fork traces) bool { return fork.most(of) > up.most(of) }
}

// others reports whether one of the fork's runs has calls among these that none of upstream's has.
func others(of func(trial.Trace) []int) func(trial.Plan, traces, traces) bool {
	return func(_ trial.Plan, up, fork traces) bool {
		return fork.any(func(f trial.Trace) bool {
			return slices.ContainsFunc(of(f), func(call int) bool {
				return !up.any(func(u trial.Trace) bool { return slices.Contains(of(u), call) })
			})
		})
	}
}

// unsent is the error of a command that got no connection.
var unsent = regexp.MustCompile(`(during connection handshake|was cleared because).*network`)

var rules = []rule{
	{text: "an acknowledged write is lost", run: func(t trial.Trace) bool { return len(t.Lost) > 0 }},
	{text: "a write took place twice", run: func(t trial.Trace) bool { return len(t.Twice) > 0 }},
	{text: "more commands than attempts are allowed", of: trial.Plan.OnlyOverloads, run: func(t trial.Trace) bool {
		return slices.ContainsFunc(t.Outcomes, func(o trial.Outcome) bool { return o.Single() && o.Attempts > t.Limit+1 })
	}},
	{text: "a call outlives its deadline", broken: outlives},
	{text: "a storm of connections", broken: func(plan trial.Plan, up, fork traces) bool {
		opened := func(t trial.Trace) int { return t.Opened }
		return !plan.Endless() && fork.least(opened) > 100+10*up.most(opened)+fork.most(begun)
	}},
	{text: "a transaction is left open", of: trial.Plan.Aborts, broken: leavesOpen},
	{text: "a call fails that succeeds with upstream", of: func(p trial.Plan) bool {
		// else by chance; or by what differences.md has about connections and WithTransaction
		return !p.Has("adaptive") && !p.Has("retry") && p.Monitor.Asks == 0 && p.Reachable() && !p.Lacks() &&
			p.Batch == 0 && (!p.Has("timeoutMS") && !p.Has("maxAdaptiveRetries=0") || !p.Has("withTransaction"))
	}, broken: failsAlone},
	{text: "tokens are minted", broken: func(plan trial.Plan, _, fork traces) bool {
		underWay := float64(max(3, len(plan.Workers())))
		return fork.any(func(t trial.Trace) bool { return t.Minted > underWay })
	}},
}

// features are rules for what plans may have beside calls and faults, for what calls return, and for what events tell.
var features = []rule{
	{text: "the command of a monitor changes the result of its call", of: func(p trial.Plan) bool {
		return p.OnlyMonitored() && (!p.Proxied() || !p.Has("clientBulkWriteMany")) // which fails with upstream
	}, often: func(i int, o trial.Outcome, up traces) bool {
		return o.Unhurried() && up.all(func(t trial.Trace) bool { return i < len(t.Outcomes) && t.Outcomes[i].Error != o.Error })
	}},
	{text: "a retry that would do is not made", broken: func(plan trial.Plan, _, fork traces) bool {
		return (plan.OneRetry() || plan.Refuses()) && fork.oftenACall(func(_ int, o trial.Outcome) bool {
			return (o.Reads() || plan.Refuses() && o.Single()) && o.Unhurried() && !o.OK()
		})
	}},
	{text: "a pool is cleared for an overload", of: func(p trial.Plan) bool { return p.Refuses() || p.Rejects() },
		run: func(t trial.Trace) bool { return t.Cleared > 0 }},
	{text: "fewer retries than the limit allows", of: trial.Plan.RejectsAny, broken: func(plan trial.Plan, _, fork traces) bool {
		return fork.oftenACall(func(_ int, o trial.Outcome) bool {
			return o.Shed() && !plan.Off(o.Call) && o.Attempts <= fork[0].Limit
		})
	}},
	{text: "a command that was rejected is not sent again", of: trial.Plan.KeepsRetrying,
		broken: func(_ trial.Plan, _, fork traces) bool {
			return fork.oftenACall(func(_ int, o trial.Outcome) bool {
				return o.Refused && o.Unhurried() && o.Attempts <= fork[0].Limit
			})
		}},
	{text: "a retry though the option is off", of: trial.Plan.OnlyOverloads, broken: func(plan trial.Plan, _, fork traces) bool {
		return fork.oftenACall(func(_ int, o trial.Outcome) bool { return o.Single() && plan.Off(o.Call) && o.Attempts > 1 })
	}},
	{text: "a write that was not sent does not say that it may be retried", broken: func(plan trial.Plan, _, fork traces) bool {
		return fork.oftenACall(func(_ int, o trial.Outcome) bool {
			return o.Retryable() && !plan.Off(o.Call) && unsent.MatchString(o.Error) &&
				!strings.Contains(o.Error, "RetryableWriteError")
		})
	}},
	{text: "backoffs vary too little", of: func(p trial.Plan) bool { return p.Rejects() || p.Conflicts() > 0 },
		broken: func(plan trial.Plan, _, fork traces) bool {
			n, squares := fork.spread(plan.Conflicts()) // of which each is 1 on the average
			switch {
			case len(fork) < runs:
				return squares < 0.02*float64(n)
			case n < 3*runs || plan.Conflicts() > 0:
				return n >= runs && squares < 0.1*float64(n)
			default:
				return squares < 0.35*float64(n)
			}
		}},
	{text: "a backoff lasts until the deadline", of: trial.Plan.Rejects, often: func(_ int, o trial.Outcome, _ traces) bool {
		return o.Single() && o.Overloaded && !o.OK() && o.Deadline > 0 && o.End >= o.Start+o.Deadline
	}},
	{text: "a retry goes to the overloaded router again", of: trial.Plan.OneRouter, broken: func(plan trial.Plan, _, fork traces) bool {
		return fork.inACall(1, func(_ int, o trial.Outcome) bool {
			aborts := o.Kind == "abortedTransaction" && plan.Faults[0].On != "update" && plan.Batch == 0
			return (o.Single() || aborts) && o.Attempts > 2
		})
	}},
	{text: "closing a cursor keeps its caller waiting", of: trial.Plan.Closes, broken: func(_ trial.Plan, up, fork traces) bool {
		took := func(o trial.Outcome) time.Duration { return o.End - o.Start }
		return fork.inACall(1, func(i int, o trial.Outcome) bool { return o.ReadsAll() && took(o) > up.longest(i, took)+roundTrip })
	}},
	{text: "backoffs are not what they should be", broken: func(plan trial.Plan, _, fork traces) bool {
		allowed := map[bool]float64{true: 5, false: 1}[len(fork) == runs]
		return (plan.Rejects() || plan.Conflicts() > 0) && math.Abs(fork.backoffs(plan.Conflicts())) > allowed
	}},
	{text: "a write took place of which the error says that it did not", of: func(p trial.Plan) bool { return p.Batch == 0 },
		call: func(o trial.Outcome) bool {
			return o.Single() && o.Done && strings.Contains(o.Error, "NoWritesPerformed")
		}},
	{text: "the error does not say that the server is overloaded",
		of: func(p trial.Plan) bool { return p.Reachable() && !p.Has("timeoutMS") },
		often: func(_ int, o trial.Outcome, _ traces) bool {
			return o.Single() && o.Overloaded && o.Refused && !o.OK() && !strings.Contains(o.Error, "SystemOverloadedError") &&
				!strings.Contains(o.Error, "the write concern fails")
		}},
	{text: "a call succeeds whose last attempt was rejected",
		call: func(o trial.Outcome) bool { return o.Single() && o.OK() && o.Refused }},
	{text: "a call that was given up does not say so", of: trial.Plan.Rejects, often: func(_ int, o trial.Outcome, _ traces) bool {
		ended := o.Start + o.Deadline + o.Cancel
		return o.Single() && o.Overloaded && !o.OK() && o.Cancel > 0 && o.End >= ended && o.End < ended+roundTrip &&
			!strings.Contains(o.Error, "context canceled")
	}},
	{text: "a read returns what is not there", call: func(o trial.Outcome) bool { return o.Wrong }},
}

// begun is how many connections WithTransaction may ask for while it begins again, each time after a backoff of 250 ms on the average, with
// one for the transaction, and one for the check of a server that follows if that is not established.
func begun(t trial.Trace) (connections int) {
	const each, backoff = 2, 250 * time.Millisecond
	for _, o := range t.Outcomes {
		if o.Kind == "withTransaction" {
			connections += each * int((o.End-o.Start)/backoff)
		}
	}
	return connections
}

func outlives(plan trial.Plan, up, fork traces) bool {
	return fork.oftenACall(func(i int, f trial.Outcome) bool {
		allowed := up.longest(i, trial.Outcome.Overrun) + roundTrip
		if f.Ends() {
			allowed += abortTime
			if plan.Has("adaptiveThrottling") {
				allowed += time.Second + abortTime // until the next check of a server
			}
		}
		return f.Overrun() > allowed
	})
}

func leavesOpen(plan trial.Plan, up, fork traces) bool {
	open, sent := func(t trial.Trace) int { return t.Unfinished }, func(t trial.Trace) int { return t.Commands }
	if fork.inACall(1, func(_ int, o trial.Outcome) bool {
		return o.EndsItself() && !o.Unhurried() && (!o.OK() || o.End >= o.Start+o.Deadline+o.Cancel) ||
			strings.Contains(o.Error, "UnknownTransactionCommitResult")
	}) {
		return false // the application has aborted with a context that was over; a commit of unknown result is not aborted
	}
	often := fork.often(open)
	if plan.Has("withTransaction") {
		often = fork.least(open) // its abort may have half a second for its backoffs
	}
	// Upstream v2.5.0 may give up before the transaction has begun.
	return often > up.most(open) && up.most(sent) >= fork.least(sent) &&
		!up.any(func(t trial.Trace) bool { return t.BeyondLimit(fork[0].Limit) })
}

func failsAlone(plan trial.Plan, up, fork traces) bool {
	// Upstream v2.5.0 takes a rejection for a success, or gives up: it makes no retries, which would meet the faults of later calls.
	gaveUp := func(t trial.Trace, before int) bool {
		return len(t.Lost) > 0 || slices.ContainsFunc(t.Outcomes[:before], func(o trial.Outcome) bool { return o.Refused })
	}
	return fork.oftenACall(func(i int, f trial.Outcome) bool {
		// The Timeout, or the end of WithTransaction's context, limits the fork's backoffs.
		timed := f.ReadsAll() && plan.Has("timeoutMS") || f.Kind == "withTransaction" &&
			strings.Contains(f.Error, ": no time for a retry: ") ||
			!f.Unhurried() && strings.Contains(f.Error, ": interrupted during the backoff before a retry: ")
		return !f.OK() && !timed && up.all(func(t trial.Trace) bool {
			// With a deadline upstream v2.5.0 has no limit, and uses up what goes wrong; so has the newest after code 391.
			return i < len(t.Outcomes) && t.Outcomes[i].OK() && !t.Outcomes[i].Rejected &&
				!t.BeyondLimit(fork[0].Limit) && t.Outcomes[i].Attempts <= f.Attempts+fork[0].Limit &&
				(plan.OnlyOverloads() && f.Unhurried() || !gaveUp(t, i))
		})
	})
}

// backoffs returns by how many standard deviations the sum of all backoffs is too long, of calls that had all retries, or of
// transactions that had so many conflicts.
func (t traces) backoffs(conflicts int) float64 {
	var sum, variance float64
	for _, one := range t {
		for _, o := range one.Outcomes {
			longest, factor, n := one.Backoff.Seconds(), 2.0, one.Limit
			switch {
			case conflicts > 0: // the newer specification's first is half as long again
				longest, factor, n = 0.005, 1.5, conflicts
				if one.Backoff > 100*time.Millisecond {
					longest *= 1.5
				}
				sum -= (transactionTime + time.Duration(n)*conflictTime).Seconds()
			case !o.Single() || o.OK() || !o.Overloaded || o.Deadline+o.Cancel > 0 || o.Attempts != one.Limit+1:
				continue
			}
			sum += (o.End - o.Start).Seconds()
			for ; n > 0; n-- { // equally likely up to that
				sum, variance = sum-longest/2, variance+longest*longest/12
				longest *= factor
			}
		}
	}
	if variance == 0 {
		return 0
	}
	return sum / math.Sqrt(variance)
}

// spread returns how many calls, or transactions, had all backoffs, and the sum of the squares of by how many standard deviations each was
// too long.
func (t traces) spread(conflicts int) (n int, squares float64) {
	for _, one := range t {
		for _, o := range one.Outcomes {
			one.Outcomes = []trial.Outcome{o}
			if z := (traces{one}).backoffs(conflicts); z != 0 {
				n, squares = n+1, squares+z*z
			}
		}
	}
	return n, squares
}
