package main

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"mongofork/lab/virtual/trial"
)

// rule is what the fork has to keep, whatever upstream does.
type rule struct {
	text string
	// of are the plans that it is for; nil stands for all.
	of     func(trial.Plan) bool
	broken flaw
}

// flaw is what runs of a plan may show.
type flaw = func(plan trial.Plan, fork traces) bool

// call is one in a run of the fork.
type call struct {
	trial.Outcome
	plan trial.Plan
}

// once is whether a call breaks a rule in a run; often is in more than a third of them, as what a driver does now and then counts, too;
// and ofRun is whether a run does.
func once(is func(call) bool) flaw {
	return func(plan trial.Plan, fork traces) bool { return most(is, plan, fork) > 0 }
}

func often(is func(call) bool) flaw {
	return func(plan trial.Plan, fork traces) bool { return most(is, plan, fork) > len(fork)/3 }
}

func ofRun(is func(trial.Trace) bool) flaw {
	return func(_ trial.Plan, fork traces) bool { return slices.ContainsFunc(fork, is) }
}

// most returns in how many runs a call is so, of that which most often is.
func most(is func(call) bool, plan trial.Plan, fork traces) (most int) {
	for i := range fork[0].Outcomes {
		most = max(most, len(slices.DeleteFunc(slices.Clone(fork), func(t trial.Trace) bool {
			return !is(call{t.Outcomes[i], plan})
		})))
	}
	return most
}

// brokenOf returns the first of some rules that the fork breaks, or nil.
func brokenOf(some []rule, plan trial.Plan, fork traces) *rule {
	i := slices.IndexFunc(some, func(r rule) bool { return (r.of == nil || r.of(plan)) && r.broken(plan, fork) })
	if i < 0 {
		return nil
	}
	return &some[i]
}

const (
	roundTrip = 2 * time.Millisecond
	// transactionEnd is how long the end of a transaction may take with its backoffs, and with what goes wrong with the network.
	transactionEnd = 10 * time.Second
	// transactionTime is what a transaction takes, and conflictTime one that conflicts.
	transactionTime, conflictTime = 8 * time.Millisecond, 860 * time.Microsecond
)

// is returns whether a plan is one of a scenario.
func is(scenario string) func(trial.Plan) bool {
	return func(p trial.Plan) bool { return p.Only == scenario }
}

// network is in an error that says that it is one of the network, or of which mongo.IsNetworkError says so; and both of what has to be said of
// that of a write.
var (
	network = regexp.MustCompile(`^\S+ " ?connection\(127|" (timeout, )?network`)
	both    = regexp.MustCompile(`" (timeout, )?network.*, RetryableWriteError`)
)

// rules are those that the fork has to keep under any plan that they are for.
var rules = []rule{
	{text: "a call outlives its deadline", broken: often(outlives)},
	// Until a deadline a driver sends commands again and again; WithTransaction commits for two minutes, and minPoolSize connects
	// without end.
	{text: "a storm of connections", of: func(p trial.Plan) bool {
		return !p.Has("within") && !p.Has("minPoolSize") && (p.OnlyHandshakes() || !slices.ContainsFunc(p.Calls, p.Hurries))
	}, broken: func(_ trial.Plan, fork traces) bool {
		return !slices.ContainsFunc(fork, func(t trial.Trace) bool { return t.Opened <= 100 })
	}},
	{text: "a command is of a transaction that has not been started there",
		of:     func(p trial.Plan) bool { return p.Passes() && p.OnlyRejects() },
		broken: ofRun(func(t trial.Trace) bool { return t.Unstarted > 0 })},
	{text: "a retry goes to the router again that failed", of: is(trial.OneRouter),
		broken: once(func(c call) bool { return c.Attempts > 1+len(c.plan.Faults) || c.Single() && !c.OK() })},
	{text: "a second retry without an overload", of: trial.Plan.NoOverloads, broken: often(func(c call) bool {
		return c.Single() && !c.plan.Hurries(c.Call) && c.Failed > 2
	})},
	{text: "more commands than attempts are allowed", of: trial.Plan.OnlyOverloads, broken: once(func(c call) bool {
		return c.Single() && c.Attempts > c.plan.Limit()+1
	})},
	// An application does not abort once its time is up, after a commit of unknown result, or after one that was rejected.
	{text: "a transaction is left open", of: trial.Plan.Rejects, broken: func(plan trial.Plan, fork traces) bool {
		return fork.often(func(t trial.Trace) bool { return t.Unfinished > 0 }) && !once(func(c call) bool {
			return c.plan.Hurries(c.Call) || c.Refused || strings.Contains(c.Error, "UnknownTransactionCommitResult")
		})(plan, fork)
	}},
	// Each of five workers may have a token under way.
	{text: "tokens are minted", broken: ofRun(func(t trial.Trace) bool { return t.Minted > 5 })},
	{text: "a pool is cleared for an overload", of: func(p trial.Plan) bool { return p.Rejects() || p.Refuses() },
		broken: ofRun(func(t trial.Trace) bool { return t.Cleared > 0 })},
	{text: "a retry though the option is off", of: func(p trial.Plan) bool { return p.Batch == 0 && !p.Has("adaptive") },
		broken: often(func(c call) bool { return c.plan.Off(c.Call) && c.Retries > 0 && c.Alone() })},
	// A call that tells of a write concern error has taken place, and must not be made again.
	{text: "a write that met a network error does not say so, and that it may be retried", broken: often(func(c call) bool {
		return c.Retryable() && !c.plan.Off(c.Call) && c.plan.Topology != "standalone" && network.MatchString(c.Error) &&
			!both.MatchString(c.Error) && !strings.Contains(c.Error, "write concern error")
	})},
	{text: "a backoff lasts until the deadline", of: trial.Plan.Rejects, broken: often(func(c call) bool {
		return c.Single() && c.Overloaded && !c.OK() && c.Deadline > 0 && c.End >= c.Start+c.Deadline
	})},
	{text: "closing a cursor keeps its caller waiting", of: is(trial.Closings), broken: once(func(c call) bool {
		return c.End-c.Start > 10*roundTrip
	})},
	{text: "backoffs are not what they should be", of: func(p trial.Plan) bool { return p.Rejects() || p.Only == trial.Conflicts },
		broken: func(plan trial.Plan, fork traces) bool {
			allowed := map[bool]float64{true: 5, false: 1}[len(fork) == runs] // standard deviations
			sum, squares, n := fork.backoffs(plan)
			few := 2 / (9 * n) // Wilson's and Hilferty's approximation of how much the sum of the squares varies
			return math.Abs(sum) > allowed*math.Sqrt(n) || squares < n*math.Pow(1-few-allowed*math.Sqrt(few), 3)
		}},
	{text: "a write took place of which the error says that it did not", of: func(p trial.Plan) bool { return p.Batch == 0 },
		broken: once(func(c call) bool { return c.Single() && c.Done && strings.Contains(c.Error, "NoWritesPerformed") })},
	{text: "a call succeeds whose last attempt was rejected",
		broken: once(func(c call) bool { return c.Single() && c.OK() && c.Refused })},
}

// outlives is whether a call of one command outlives its deadline by more than a few round trips; WithTransaction may take more, to end
// its transaction, and with a Timeout has that anew.
func outlives(c call) bool {
	if c.Unhurried() {
		return false
	}
	late := c.End - (c.Start + c.Deadline + c.Cancel)
	return c.Single() && late > 2*roundTrip || c.Way == "within" && !c.plan.Has("timeoutMS") && late > transactionEnd
}

// backoffs returns the sums of by how many standard deviations the backoffs are too long of calls that had all retries, or of transactions
// that had conflicts, of the squares of that, and how many there are.
func (t traces) backoffs(plan trial.Plan) (sum, squares, n float64) {
	newer := trial.Newest()
	for _, one := range t {
		for _, o := range one.Outcomes {
			longest, factor, times, took := map[bool]float64{false: 0.1, true: 0.2}[newer], 2.0, plan.Limit(), o.End-o.Start
			switch {
			case plan.Only == trial.Conflicts: // the newer specification's first is half as long again
				longest, factor, times = map[bool]float64{false: 0.005, true: 0.0075}[newer], 1.5, plan.Faults[0].Times
				took -= transactionTime + time.Duration(times)*conflictTime
			case !o.Single() || o.OK() || !o.Overloaded || !o.Unhurried() || o.Attempts != plan.Limit()+1:
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
