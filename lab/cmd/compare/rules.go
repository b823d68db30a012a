package main

import (
	"slices"
	"strings"
	"time"

	"mongofork/lab/virtual/trial"
)

// broken returns the rule that the fork breaks under overload, and how its calls ended, or nothing.
func broken(plan trial.Plan, up, fork traces) (rule, detail string) {
	if r := brokenOf(slices.Concat(rules, features, outcomes), plan, up, fork); r != nil {
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
	// transactionTime is what a transaction takes, and conflictTime one that conflicts.
	transactionTime, conflictTime = 8 * time.Millisecond, 860 * time.Microsecond
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
	{"a call outlives its deadline", func(plan trial.Plan, up, fork traces) bool {
		return fork.oftenACall(func(i int, f trial.Outcome) bool {
			allowed := max(up.longest(i, trial.Outcome.Overrun), 0) + roundTrip
			if f.Ends() {
				allowed += abortTime
				if plan.Has("adaptiveThrottling") {
					allowed += time.Second // until the next check of a server
				}
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
		if plan.FailsAuthentication() {
			allowed += len(plan.Calls) // each is retried
		}
		if plan.Has("withTransaction") {
			allowed += 16 // its first backoffs are of milliseconds
		}
		return fork.least(trial.Trace.Burst) > up.most(trial.Trace.Burst)+allowed
	}},
	{"a transaction is left open", func(plan trial.Plan, up, fork traces) bool {
		open, sent := func(t trial.Trace) int { return t.Unfinished }, func(t trial.Trace) int { return t.Commands }
		if fork.inACall(1, func(_ int, o trial.Outcome) bool {
			return o.EndsItself() && o.Deadline+o.Cancel > 0 && !o.OK() || strings.Contains(o.Error, "UnknownTransactionCommitResult")
		}) {
			return false // the application has aborted with a context that was over; a commit of unknown result is not aborted
		}
		// Upstream v2.5.0 may give up before the transaction has begun.
		return plan.Reachable() && fork.least(open) > up.most(open) && up.most(sent) >= fork.least(sent) &&
			!up.any(func(t trial.Trace) bool { return t.BeyondLimit(fork[0].Limit) })
	}},
	{"a call fails that succeeds with upstream", func(plan trial.Plan, up, fork traces) bool {
		if plan.Has("adaptive") || plan.Has("retry") || plan.Monitor.Asks > 0 || plan.Limits() || !plan.Reachable() ||
			plan.Lacks() || plan.Batch > 0 || plan.Has("timeoutMS") && plan.Has("withTransaction") {
			return false // by chance; or by what differences.md has about connections and WithTransaction
		}
		const endless = 100 // attempts, as upstream's newest may have after code 391
		return fork.oftenACall(func(i int, f trial.Outcome) bool {
			timed := f.ReadsAll() && plan.Has("timeoutMS") // which limits the fork's backoffs
			return !f.OK() && !timed && up.all(func(t trial.Trace) bool {
				// Upstream v2.5.0 takes a rejection for a success. With a deadline it has no limit, and uses up what goes
				// wrong.
				return i < len(t.Outcomes) && t.Outcomes[i].OK() && !t.Outcomes[i].Rejected &&
					!t.BeyondLimit(fork[0].Limit) &&
					t.Outcomes[i].Attempts < endless
			})
		})
	}},
	{"tokens are minted", func(plan trial.Plan, _, fork traces) bool {
		underWay := float64(max(3, len(plan.Workers())))
		return fork.any(func(t trial.Trace) bool { return t.Minted > underWay })
	}},
	{"servers are selected in a busy loop", func(plan trial.Plan, up, fork traces) bool {
		selections := func(t trial.Trace) int { return t.Selections }
		// one for each attempt, one to look elsewhere
		return plan.OnlyOverloads() && fork.least(selections) > up.most(selections)+2*(fork[0].Limit+1)
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

// oftenACall reports whether there is a call that is so in more than a third of the runs: what a driver does now and then counts, too.
func (t traces) oftenACall(is func(i int, o trial.Outcome) bool) bool {
	return t.inACall(len(t)/3+1, is)
}

// inACall reports whether there is a call that is so in that many runs.
func (t traces) inACall(least int, is func(i int, o trial.Outcome) bool) bool {
	for i := range t[0].Outcomes {
		times := 0
		for _, one := range t {
			if i < len(one.Outcomes) && is(i, one.Outcomes[i]) {
				times++
			}
		}
		if times >= least {
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
