package main

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"mongofork/lab/virtual/trial"
)

// TestFeatureRules has a trial that breaks each rule, and one next to it that does not.
func TestFeatureRules(t *testing.T) {
	t.Parallel()
	only := func(scenario string) trial.Plan { return trial.Plan{Only: scenario} }
	reauthenticates := trial.Plan{
		Calls:  []trial.Call{{ID: 1, Kind: "insertOne"}},
		Faults: []trial.Fault{{What: trial.Error, Code: 391, On: "insert"}, {What: trial.Reject, Code: 462, On: "insert"}},
	}
	outcome := func(kind, err string) trial.Trace {
		return trial.Trace{Outcomes: []trial.Outcome{{Call: trial.Call{ID: 1, Kind: kind}, Error: err}}}
	}
	overloaded := func(err string) trial.Trace {
		trace := outcome("insertOne", err)
		trace.Outcomes[0].Overloaded, trace.Outcomes[0].Refused, trace.Outcomes[0].Attempts = true, true, 1
		return trace
	}
	rejected := func(attempts int, took time.Duration) trial.Trace {
		trace := overloaded("x SystemOverloadedError")
		trace.Backoff = 100 * time.Millisecond
		trace.Limit, trace.Outcomes[0].Attempts, trace.Outcomes[0].End = 5, attempts, took
		return trace
	}
	again := func(attempts int) trial.Trace {
		trace := outcome("insertOne", "")
		trace.Limit, trace.Outcomes[0].Attempts = 5, attempts
		return trace
	}
	oneRouter := trial.Plan{Only: trial.OneRouter, Faults: []trial.Fault{{What: trial.Reject, Host: 1}}}
	conflicts := trial.Plan{Only: trial.Conflicts,
		Faults: []trial.Fault{{What: trial.Error, Code: 112, On: "insert", Nth: 1, Times: 3}}}
	lasts := func(kind string, took time.Duration) trial.Trace {
		trace := outcome(kind, "")
		trace.Outcomes[0].End = took
		return trace
	}
	reads := func(took time.Duration) trial.Trace { return lasts("find", took) }
	cleared := outcome("findOne", "")
	cleared.Cleared = 1
	rejects := trial.Plan{Calls: []trial.Call{{ID: 1, Kind: "insertOne"}},
		Faults: []trial.Fault{{What: trial.Reject, Code: 462, On: "insert"}}}
	lost, written := outcome("insertOne", "x"), outcome("insertOne", "x NoWritesPerformed")
	lost.Outcomes[0].Done, written.Outcomes[0].Done = true, true
	panicked := outcome("find", "panic: nil")
	panicked.Outcomes[0].Panicked = true
	having := func(change func(*trial.Outcome)) trial.Trace {
		trace := outcome("findOne", "")
		change(&trace.Outcomes[0])
		return trace
	}
	with := func(change func(*trial.Trace)) trial.Trace {
		trace := outcome("findOne", "")
		change(&trace)
		return trace
	}
	unpaired, held := with(func(t *trial.Trace) { t.Unpaired = 1 }), with(func(t *trial.Trace) { t.Held = 1 })
	early, unstarted := with(func(t *trial.Trace) { t.Early = 1 }), with(func(t *trial.Trace) { t.Unstarted = 1 })
	lostAlone, twiceAlone := with(func(t *trial.Trace) { t.Lost = []int{1} }), with(func(t *trial.Trace) { t.Twice = []int{1} })
	unannounced := with(func(t *trial.Trace) { t.Unannounced = 1 })
	late := func(by time.Duration) trial.Trace {
		return having(func(o *trial.Outcome) { o.Deadline, o.End = time.Second, time.Second+by })
	}
	minted := func(n float64) trial.Trace { return with(func(t *trial.Trace) { t.Minted = n }) }
	opened := func(n int) trial.Trace { return with(func(t *trial.Trace) { t.Opened = n }) }
	off := rejects
	off.Options = []string{"retryWrites=false"}
	changed := with(func(t *trial.Trace) { t.Changed = 1 })
	givenUp := func(err string) trial.Trace {
		return having(func(o *trial.Outcome) { o.Error, o.Overloaded, o.Cancel, o.End = err, true, time.Second, time.Second })
	}
	good := outcome("findOne", "")
	waits := func(end time.Duration) trial.Trace {
		return having(func(o *trial.Outcome) { o.Error, o.Overloaded, o.Deadline, o.End = "x", true, time.Second, end })
	}
	tests := map[string]struct {
		plan           trial.Plan
		up, fork, good trial.Trace
	}{
		"a call panics that does not with upstream": {trial.Plan{}, good, panicked, good},
		"the command of a monitor changes the result of its call": {only(trial.Monitored), outcome("insertMany", "x"),
			outcome("insertMany", "y"), outcome("insertMany", "x")},
		"more commands than attempts are allowed":  {rejects, good, again(7), again(6)},
		"a transaction is left open":               {rejects, good, with(func(t *trial.Trace) { t.Unfinished = 1 }), good},
		"a call fails that succeeds with upstream": {rejects, good, outcome("findOne", "x"), good},
		"tokens are minted":                        {rejects, good, minted(4), minted(3)},
		"a retry that would do is not made": {only(trial.OneRetry), outcome("findOne", "x"), outcome("findOne", "x"),
			outcome("findOne", "")},
		"the error does not say that the server is overloaded": {reauthenticates, outcome("insertOne", ""), overloaded("x"),
			overloaded("x SystemOverloadedError")},
		"a call that was given up does not say so": {rejects, good, givenUp("x"), givenUp("x: context canceled")},
		"a call outlives its deadline": {trial.Plan{}, late(0), late(5 * time.Millisecond),
			late(4 * time.Millisecond)},
		"a storm of connections":        {trial.Plan{}, opened(1), opened(111), opened(110)},
		"an acknowledged write is lost": {trial.Plan{}, good, lostAlone, good},
		"a write took place twice":      {trial.Plan{}, good, twiceAlone, good},
		"a retry is another command":    {trial.Plan{}, good, changed, good},
		"a backoff lasts until the deadline": {rejects, good,
			waits(time.Second), waits(time.Second - 1)},
		"a pool is ready before its server is known":                    {trial.Plan{}, good, early, good},
		"a command is of a transaction that has not been started there": {trial.Plan{}, good, unstarted, good},
		"closing a cursor keeps its caller waiting": {only(trial.Closings), reads(0), reads(5 * time.Millisecond),
			reads(time.Millisecond)},
		"a call succeeds whose last attempt was rejected": {trial.Plan{}, good,
			having(func(o *trial.Outcome) { o.Refused, o.Attempts = true, 1 }),
			having(func(o *trial.Outcome) { o.Refused, o.Attempts, o.Error = true, 1, "x" })},
		"a command's event has not exactly one counterpart": {trial.Plan{}, good, unpaired, good},
		"a connection is not returned":                      {trial.Plan{}, good, held, good},
		"a handshake does not announce backpressure":        {trial.Plan{}, good, unannounced, good},
		"a command that was rejected is not sent again": {rejects, good,
			having(func(o *trial.Outcome) { o.Kind, o.Refused, o.Error = "find", true, "x" }),
			having(func(o *trial.Outcome) { o.Kind, o.Refused, o.Error, o.Attempts = "find", true, "x", 1 })},
		"a retry though the option is off": {off, good, again(2), again(1)},
		"a write that was not sent does not say that it may be retried": {trial.Plan{}, good,
			outcome("insertOne", "during connection handshake: x network"),
			outcome("insertOne", "during connection handshake: x network, RetryableWriteError")},
		"a pool is cleared for an overload": {only(trial.Refused), outcome("findOne", ""), cleared, outcome("findOne", "")},
		"backoffs are not what they should be": {rejects, outcome("insertOne", "x"), rejected(6, 800*time.Millisecond),
			rejected(6, 1700*time.Millisecond)},
		"a retry goes to the router again that failed":               {oneRouter, good, again(3), again(2)},
		"a write took place of which the error says that it did not": {trial.Plan{}, outcome("insertOne", "x"), written, lost},
	}
	all := slices.Concat(rules, always)
	one := func(name string) []rule {
		return slices.DeleteFunc(slices.Clone(all), func(r rule) bool { return r.text != name })
	}
	assert.Len(t, tests, len(all))
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.NotNil(t, brokenOf(one(name), tt.plan, traces{tt.up}, traces{tt.fork}))
			assert.Nil(t, brokenOf(one(name), tt.plan, traces{tt.up}, traces{tt.good}))
			assert.Nil(t, brokenOf(one(name), tt.plan, traces{tt.up}, traces{{Untouched: true}}), "upstream need not keep it")
		})
	}
	// Without backoffs a transaction with three conflicts takes 10.6 ms. Their means are 2.5, 3.75 and 5.6 ms, or half as much more.
	for _, tt := range []struct {
		backoff, took time.Duration
		broken        bool
	}{{100, 22, false}, {100, 30, true}, {100, 14, true}, {200, 28, false}, {200, 20, true}, {200, 38, true}} {
		var some traces
		for n := range runs {
			trace := lasts("withTransaction", (tt.took+time.Duration(n%3-1)*3)*time.Millisecond)
			trace.Backoff = tt.backoff * time.Millisecond
			some = append(some, trace)
		}
		rule := brokenOf(one("backoffs are not what they should be"), conflicts, some[:1], some)
		assert.Equal(t, tt.broken, rule != nil, "%+v", tt)
	}
	limited := func(end time.Duration, options ...string) bool {
		o := trial.Outcome{Call: trial.Call{Kind: within, Deadline: time.Second}, End: end}
		up, fork := o, o
		up.End = time.Second
		return brokenOf(one("a call outlives its deadline"), trial.Plan{Options: options},
			traces{{Outcomes: []trial.Outcome{up}}}, traces{{Outcomes: []trial.Outcome{fork}}}) != nil
	}
	assert.True(t, limited(5*time.Second))
	assert.False(t, limited(4*time.Second), "a transaction's end takes time")
	assert.False(t, limited(5*time.Second, "timeoutMS=50"), "and has the Timeout anew")
	assert.Nil(t, brokenOf(all, trial.Plan{}, traces{lostAlone}, traces{lostAlone}), "upstream loses it, too")
	assert.NotNil(t, brokenOf(all, rejects, traces{lostAlone}, traces{lostAlone}), "which is no excuse where they need not do the same")
	for _, tt := range []struct {
		attempts int
		options  []string
		broken   bool
	}{{5, nil, true}, {5, []string{"retryWrites=false"}, false}, {5, []string{"retryReads=false"}, true}, {6, nil, false}} {
		plan := rejects
		plan.Options = tt.options
		rule := brokenOf(one("a command that was rejected is not sent again"), plan, traces{good},
			traces{rejected(tt.attempts, 1700*time.Millisecond)})
		assert.Equal(t, tt.broken, rule != nil, "%+v", tt)
	}
	assert.NotNil(t, brokenOf(one("backoffs are not what they should be"), rejects, traces{good},
		traces{rejected(6, 1550*time.Millisecond)}), "they vary too little")
	assert.Nil(t, brokenOf(all, trial.Plan{}, traces{outcome("findOne", "x")}, traces{outcome("findOne", "x")}), "one retry may not do")
}
