package main

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"mongofork/lab/virtual/trial"
)

func trace(changes ...func(*trial.Trace)) trial.Trace {
	t := trial.Trace{Outcomes: []trial.Outcome{{Call: trial.Call{ID: 1, Kind: "insertOne"}}}}
	for _, change := range changes {
		change(&t)
	}
	return t
}

func ofCall(change func(*trial.Outcome)) trial.Trace {
	return trace(func(t *trial.Trace) { change(&t.Outcomes[0]) })
}

// TestRules has a trial that breaks each rule, and one next to it that does not.
func TestRules(t *testing.T) {
	t.Parallel()
	type o = trial.Outcome
	rejects := trial.Plan{Calls: []trial.Call{{ID: 1, Kind: "insertOne"}},
		Faults: []trial.Fault{{What: trial.Reject, Code: 462, On: "insert"}}}
	off := rejects
	off.Options = []string{"retryWrites=false"}
	passes := trial.Plan{Faults: []trial.Fault{{What: trial.Reject, Passing: true}}}
	limit := rejects.Limit()
	ends := func(kind, err string, at time.Duration) trial.Trace {
		return ofCall(func(o *o) { o.Kind, o.Error, o.End = kind, err, at })
	}
	overloaded := func(change func(*o)) trial.Trace {
		return ofCall(func(o *o) {
			o.Overloaded, o.Refused, o.Attempts, o.Error = true, true, limit+1, "x SystemOverloadedError"
			change(o)
		})
	}
	backoffs := map[bool]time.Duration{false: 1550, true: 300}[trial.Newest()] * time.Millisecond // their mean
	tests := map[string]struct {
		plan      trial.Plan
		bad, good trial.Trace
	}{
		"a call outlives its deadline": {rejects, ofCall(func(o *o) { o.Deadline, o.End = time.Second, time.Second+5*time.Millisecond }),
			ofCall(func(o *o) { o.Deadline, o.End = time.Second, time.Second+4*time.Millisecond })},
		"a storm of connections": {rejects, trace(func(t *trial.Trace) { t.Opened = 101 }),
			trace(func(t *trial.Trace) { t.Opened = 100 })},
		"a command is of a transaction that has not been started there": {passes, trace(func(t *trial.Trace) { t.Unstarted = 1 }), trace()},
		"a retry goes to the router again that failed": {trial.Plan{Only: trial.OneRouter, Faults: rejects.Faults},
			ofCall(func(o *o) { o.Attempts = 3 }), ofCall(func(o *o) { o.Attempts = 2 })},
		"a second retry without an overload": {trial.Plan{}, ofCall(func(o *o) { o.Failed = 3 }), ofCall(func(o *o) { o.Failed = 2 })},
		"more commands than attempts are allowed": {rejects, ofCall(func(o *o) { o.Attempts = limit + 2 }),
			ofCall(func(o *o) { o.Attempts = limit + 1 })},
		"a transaction is left open": {rejects, trace(func(t *trial.Trace) { t.Unfinished = 1 }),
			trace(func(t *trial.Trace) { t.Unfinished, t.Outcomes[0].Error = 1, "x UnknownTransactionCommitResult" })},
		"tokens are minted":                 {rejects, trace(func(t *trial.Trace) { t.Minted = 6 }), trace(func(t *trial.Trace) { t.Minted = 5 })},
		"a pool is cleared for an overload": {rejects, trace(func(t *trial.Trace) { t.Cleared = 1 }), trace()},
		"a retry though the option is off":  {off, ofCall(func(o *o) { o.Retries = 1 }), trace()},
		"a write that met a network error does not say so, and that it may be retried": {rejects,
			ofCall(func(o *o) { o.Error = `T "connection(127" RetryableWriteError` }),
			trace(func(t *trial.Trace) {
				t.Outcomes = append(ends("insertOne", `T "x" network, RetryableWriteError`, 0).Outcomes,
					ends("clientBulkWrite", `T "write concern errors: [x]" network`, 0).Outcomes...)
			})},
		"a backoff lasts until the deadline": {rejects, overloaded(func(o *o) { o.Deadline, o.End = time.Second, time.Second }),
			overloaded(func(o *o) { o.Deadline, o.End = time.Second, time.Second-1 })},
		"closing a cursor keeps its caller waiting": {trial.Plan{Only: trial.Closings}, ends("find", "x", 21*time.Millisecond),
			ends("find", "x", 20*time.Millisecond)},
		"backoffs are not what they should be": {rejects, overloaded(func(o *o) { o.End = 2*backoffs + time.Second }),
			overloaded(func(o *o) { o.End = backoffs + 100*time.Millisecond })},
		"a write took place of which the error says that it did not": {rejects, ofCall(func(o *o) { o.Done, o.Error = true, "NoWritesPerformed" }),
			ofCall(func(o *o) { o.Error = "NoWritesPerformed" })},
		"a call succeeds whose last attempt was rejected": {rejects, ofCall(func(o *o) { o.Refused = true }), trace()},
	}
	assert.Len(t, tests, len(rules))
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := func(r rule) bool { return r.text != name }
			one := slices.DeleteFunc(slices.Clone(rules), of)
			assert.NotNil(t, brokenOf(one, tt.plan, traces{tt.bad}))
			assert.Nil(t, brokenOf(one, tt.plan, traces{tt.good}))
		})
	}
}

// TestNowAndThen is about a call that breaks a rule in some runs.
func TestNowAndThen(t *testing.T) {
	t.Parallel()
	var fork traces
	for n := range runs {
		fork = append(fork, ofCall(func(o *trial.Outcome) { o.Failed = 3 * (n % 2) }))
	}
	assert.NotNil(t, brokenOf(rules, trial.Plan{}, fork))
	for n := range runs {
		fork[n].Outcomes[0].Failed = 3 * max(0, runs/3-n)
	}
	assert.Nil(t, brokenOf(rules, trial.Plan{}, fork))
}

// TestConflicts is about the backoffs between transactions. Without them, one with three conflicts takes 10.6 ms; their means are 2.5,
// 3.75 and 5.6 ms, or half as much more.
func TestConflicts(t *testing.T) {
	t.Parallel()
	conflicts := trial.Plan{Only: trial.Conflicts, Faults: []trial.Fault{{What: trial.Error, Code: 112, On: "insert", Nth: 1, Times: 3}}}
	took := map[bool][3]time.Duration{false: {22, 30, 14}, true: {28, 38, 20}}[trial.Newest()]
	for i, want := range []bool{false, true, true} {
		var some traces
		for n := range runs {
			some = append(some, ofCall(func(o *trial.Outcome) { o.End = (took[i] + time.Duration(n%3-1)*3) * time.Millisecond }))
		}
		assert.Equal(t, want, brokenOf(rules, conflicts, some) != nil, "%v", took[i])
	}
}

// TestEqual is about plans in which nothing goes wrong.
func TestEqual(t *testing.T) {
	t.Parallel()
	a, b := trial.Trace{Lines: []string{"x", "a"}}, trial.Trace{Lines: []string{"x", "b"}}
	assert.Empty(t, equal(traces{a}, traces{a}))
	assert.Equal(t, finding{different, "upstream:\n\ta\nthe fork:\n\tb"}, equal(traces{a}, traces{b}))
	assert.Empty(t, equal(traces{a, b}, traces{b, a}), "what is by chance")
	assert.Empty(t, equal(traces{{Crash: "upstream's"}}, traces{b}))
	assert.NotEmpty(t, equal(traces{a, a, a}, traces{a, b, b}))
}

// TestSame is about calls that get over errors.
func TestSame(t *testing.T) {
	t.Parallel()
	plan := trial.Plan{Topology: "standalone", Faults: []trial.Fault{{What: trial.Reject, Passing: true}}}
	without := trial.Trace{Calls: []string{"returns 1"}, Opened: 3}
	other, more := without, without
	other.Calls, more.Opened = []string{"returns 2"}, 4
	assert.Empty(t, same(plan, without, traces{without}))
	assert.Equal(t, impasse, same(plan, without, traces{other}).what)
	assert.Equal(t, impasse, same(plan, without, traces{more}).what)
	assert.Equal(t, impasse, same(plan, without, traces{without, without, other}).what, "now and then")
	plan.Faults[0].What = trial.Close
	assert.Empty(t, same(plan, without, traces{more}), "another connection is needed")
}
